import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { metadataOf, pageOf, textOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

type CustomerFields = NonNullable<(typeof routes.customers.create)['body']>['schema']['_output'];
type AddressFields = NonNullable<CustomerFields['shipping']>;

export function customerBindings({ checkout }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update, delete: remove, listPaymentMethods } = routes.customers;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const page = await checkout.listCustomers({ page: pageOf(query), ...given({ email: query.email }) }, call);
      return answers.list(request, 'customer', page.customers, page.hasMore);
    }),
    bind(create, async (request) => {
      const { metadata = {}, test_clock } = request.body;
      const { idempotency } = request;
      const message = { metadata, ...fieldsOf(request.body), ...given({ testClockId: test_clock, idempotency }) };
      return answers.one(request, 'customer', await checkout.createCustomer(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'customer', await checkout.getCustomer({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { metadata, clear = [] } = request.body;
      const change = given({ metadata: metadataOf(metadata) });
      const message = { id: request.id, clear, ...fieldsOf(request.body), ...change };
      return answers.one(request, 'customer', await checkout.updateCustomer(message, request.call));
    }),
    bind(remove, async (request) =>
      answers.one(request, 'customer', await checkout.deleteCustomer({ id: request.id }, request.call)),
    ),
    bind(listPaymentMethods, async (request) => {
      const message = { page: pageOf(request.query), customerId: request.id };
      const page = await checkout.listPaymentMethods(message, request.call);
      return answers.list(request, 'payment_method', page.paymentMethods, page.hasMore);
    }),
  ];
}

/** An address as the services take it. */
export function addressOf(address: AddressFields) {
  return given({
    line1: address.line1,
    line2: address.line2,
    city: address.city,
    state: address.state,
    postalCode: address.postal_code,
    country: address.country,
  });
}

function fieldsOf(customer: Omit<CustomerFields, 'test_clock' | 'metadata'>) {
  return given({
    firstName: customer.first_name,
    lastName: customer.last_name,
    email: textOf(customer.email),
    phone: customer.phone,
    employer: customer.employer,
    shipping: customer.shipping === undefined ? undefined : addressOf(customer.shipping),
  });
}
