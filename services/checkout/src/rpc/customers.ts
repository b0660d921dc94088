import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { CheckoutService, UpdateCustomerRequest } from '@eligo/proto/checkout/v1/checkout';
import type { Implementation } from '@eligo/rpc';
import { createCustomer } from '../actions/create-customer.ts';
import { deleteCustomer } from '../actions/delete-customer.ts';
import { setTestClock } from '../actions/set-test-clock.ts';
import { type CustomerChange, updateCustomer } from '../actions/update-customer.ts';
import type { Context } from '../context.ts';
import { addressOf } from '../messages/address.ts';
import { customerMessage } from '../messages/customer.ts';
import { findCustomer, findCustomers, listCustomers } from '../store/customers.ts';

/** Customers, and the clocks that they live on. */
export function customerHandlers(context: Context): Implementation<typeof CheckoutService> {
  const { database } = context;
  return {
    createCustomer: (request, { scope }) =>
      createCustomer(
        context,
        scope,
        {
          firstName: request.firstName ?? null,
          lastName: request.lastName ?? null,
          email: request.email ?? null,
          phone: request.phone ?? null,
          employer: request.employer ?? null,
          shipping: addressOf(request.shipping),
          metadata: request.metadata,
          testClockId: request.testClockId ?? null,
        },
        request.idempotency,
      ),

    async getCustomer({ id }, { scope }) {
      const customer = await findCustomer(database, scope, id);
      if (customer === undefined) throw new Failure('customer_not_found');
      return customerMessage(scope, customer);
    },

    async batchGetCustomers({ ids }, { scope }) {
      const customers = await findCustomers(database, scope, ids);
      return { customers: customers.map((customer) => customerMessage(scope, customer)), hasMore: false };
    },

    async listCustomers({ page, email }, { scope }) {
      const { customers, hasMore } = await listCustomers(database, scope, pageOf(page), email);
      return { customers: customers.map((customer) => customerMessage(scope, customer)), hasMore };
    },

    async updateCustomer(request, { scope }) {
      return customerMessage(scope, await updateCustomer(context, scope, request.id, changeOf(request)));
    },

    async deleteCustomer({ id }, { scope }) {
      return customerMessage(scope, await deleteCustomer(context, scope, id));
    },

    async setTestClock({ testClockId, frozenTimeMs, deleted }, { scope }) {
      await setTestClock(context, scope, { testClockId, frozenTime: new Date(Number(frozenTimeMs)), deleted });
      return {};
    },
  };
}

function changeOf(request: UpdateCustomerRequest): CustomerChange {
  const cleared = Object.assign({}, ...request.clear.map((field) => clearedBy.get(field) ?? unclearable(field)));
  const { firstName, lastName, email, phone, employer, shipping, metadata } = request;
  const given = Object.entries({ firstName, lastName, email, phone, employer }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...Object.fromEntries(given),
    ...cleared,
    ...(shipping === undefined ? {} : { shipping: addressOf(shipping) }),
    ...(metadata === undefined ? {} : { metadata: metadata.entries }),
  };
}

/** What each name of `clear` changes. */
const clearedBy = new Map<string, CustomerChange>([
  ['first_name', { firstName: null }],
  ['last_name', { lastName: null }],
  ['email', { email: null }],
  ['phone', { phone: null }],
  ['employer', { employer: null }],
  ['shipping', { shipping: null }],
  ['metadata', { metadata: {} }],
]);

function unclearable(field: string): never {
  throw Failure.invalid(['body', 'customer', 'clear'], 'value_error', `${field.slice(0, 40)} cannot be cleared`);
}
