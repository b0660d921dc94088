import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { CustomerRecord } from '../store/record-types.ts';
import { askIssuerToAttach } from './issuer-check.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const customerRoutes: Route[] = [
  { method: 'POST', path: '/v1/customers', call: 'customers.create', prepare: createCustomer },
  { method: 'GET', path: '/v1/customers', call: 'customers.list', prepare: listCustomers },
  { method: 'GET', path: '/v1/customers/:id', call: 'customers.retrieve', prepare: retrieveCustomer },
  { method: 'POST', path: '/v1/customers/:id', call: 'customers.update', prepare: updateCustomer },
  { method: 'DELETE', path: '/v1/customers/:id', call: 'customers.delete', prepare: deleteCustomer },
];

/** A customer that exists and was not deleted. */
export function needCustomer(call: Call, id: string, param: string): CustomerRecord {
  const customer = call.records.need('customer', call.account, id, param, 400);
  if (customer.deleted) throw missingRecord('customer', id, param, 400);
  return customer;
}

function createCustomer(parameters: Parameters) {
  const fields = readFields(parameters);
  const paymentMethod = parameters.text('payment_method');
  parameters.finish();
  return (call: Call) => {
    const customer: CustomerRecord = {
      id: call.newId('cus'),
      account: call.account,
      created: call.at,
      name: fields.name ?? null,
      email: fields.email ?? null,
      phone: fields.phone ?? null,
      description: fields.description ?? null,
      address: fields.address ?? null,
      shipping: fields.shipping ?? null,
      metadata: mergedMetadata({}, fields.metadata),
      deleted: false,
    };
    if (paymentMethod !== undefined) {
      const method = call.records.need('payment_method', call.account, paymentMethod, 'payment_method', 400);
      askIssuerToAttach(method);
      call.records.insert('customer', customer, customersWith(call.account, customer.email));
      call.records.update('payment_method', { ...method, customer: customer.id }, customer.id);
    } else call.records.insert('customer', customer, customersWith(call.account, customer.email));
    call.emit('customer.created', 'customer', customer);
    return shape('customer', customer);
  };
}

function listCustomers(parameters: Parameters) {
  const query = pageQuery(parameters);
  const email = parameters.text('email');
  parameters.finish();
  return (call: Call) => {
    const page = call.records.page('customer', call.account, {
      ...query,
      parent: email === undefined ? undefined : customersWith(call.account, email),
    });
    return listShape('/v1/customers', page, (record) => shape('customer', record));
  };
}

function retrieveCustomer(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('customer', call.records.need('customer', call.account, call.id));
}

function updateCustomer(parameters: Parameters) {
  const fields = readFields(parameters);
  parameters.finish();
  return (call: Call) => {
    const known = call.records.need('customer', call.account, call.id);
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const customer: CustomerRecord = { ...known, ...given, metadata: mergedMetadata(known.metadata, fields.metadata) };
    call.records.update('customer', customer, customersWith(call.account, customer.email) ?? '');
    call.emit('customer.updated', 'customer', customer);
    return shape('customer', customer);
  };
}

function deleteCustomer(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const customer = { ...call.records.need('customer', call.account, call.id), deleted: true };
    call.records.update('customer', customer, '');
    call.emit('customer.deleted', 'customer', customer);
    return shape('customer', customer);
  };
}

// What a customer hangs on in the index, so that a list by email reads no others. Stripe compares the letters as they are.
function customersWith(account: string, email: string | null): string | undefined {
  return email === null ? undefined : `${account} ${email}`;
}

function readFields(parameters: Parameters) {
  return {
    name: parameters.clearableText('name'),
    email: parameters.clearableText('email'),
    phone: parameters.clearableText('phone'),
    description: parameters.clearableText('description'),
    address: parameters.raw('address'),
    shipping: parameters.raw('shipping'),
    metadata: parameters.metadata(),
  };
}
