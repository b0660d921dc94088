import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { address, email, metadata, reference, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryText } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'customer' } as const;
const shortText = text(limits.shortTextLength);

const fields = {
  first_name: shortText.optional(),
  last_name: shortText.optional(),
  email: email.optional(),
  phone: text(100).optional(),
  employer: shortText.optional(),
  shipping: address.optional(),
  metadata: metadata.optional(),
};

const clearable = z.enum(['first_name', 'last_name', 'email', 'phone', 'employer', 'shipping', 'metadata']);

export const customerRoutes = {
  list: defineRoute({
    id: 'customers.list',
    summary: 'List customers, newest first',
    method: 'GET',
    path: '/v1/customers',
    scope: 'customers_read',
    owner: 'checkout',
    query: listQuery('customer', { email: queryText.optional() }),
    response: listOf('customer'),
  }),
  create: defineRoute({
    id: 'customers.create',
    summary: 'Create a customer',
    method: 'POST',
    path: '/v1/customers',
    scope: 'customers_write',
    owner: 'checkout',
    body: { envelope: 'customer', schema: z.object({ ...fields, test_clock: reference('test_clock').optional() }) },
    response: oneOf('customer'),
    idempotency: 'replay',
    violations: ['test_clock_not_found'],
  }),
  get: defineRoute({
    id: 'customers.get',
    summary: 'Read a customer',
    method: 'GET',
    path: '/v1/customers/{id}',
    params,
    scope: 'customers_read',
    owner: 'checkout',
    response: oneOf('customer'),
  }),
  update: defineRoute({
    id: 'customers.update',
    summary: 'Update a customer',
    method: 'PATCH',
    path: '/v1/customers/{id}',
    params,
    scope: 'customers_write',
    owner: 'checkout',
    body: { envelope: 'customer', schema: z.object({ ...fields, clear: z.array(clearable).max(10).optional() }) },
    response: oneOf('customer'),
  }),
  delete: defineRoute({
    id: 'customers.delete',
    summary: 'Delete a customer',
    method: 'DELETE',
    path: '/v1/customers/{id}',
    params,
    scope: 'customers_write',
    owner: 'checkout',
    response: oneOf('customer'),
  }),
  listPaymentMethods: defineRoute({
    id: 'customers.list_payment_methods',
    summary: 'List the payment methods of a customer, newest first',
    method: 'GET',
    path: '/v1/customers/{id}/payment_methods',
    params,
    scope: 'payment_methods_read',
    owner: 'checkout',
    query: listQuery('payment_method', {}),
    response: listOf('payment_method'),
    expansion: expansionOfRecord('payment_method'),
  }),
};
