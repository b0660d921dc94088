import { randomUUID } from 'node:crypto';
import { field, type PublicApi } from './public-api.ts';

/** Does what an event follows from; resolves with the ids of what it made. */
export type Scenario = (api: PublicApi) => Promise<Record<string, string>>;

/** By event type, the shortest way there. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  'customer.created': async (api) => ({ customer: await makeCustomer(api) }),
  'customer.updated': async (api) => {
    const customer = await makeCustomer(api);
    await api.send('PATCH', `/v1/customers/${customer}`, { customer: { metadata: { triggered: 'yes' } } });
    return { customer };
  },
  'customer.deleted': async (api) => {
    const customer = await makeCustomer(api);
    await api.send('DELETE', `/v1/customers/${customer}`);
    return { customer };
  },
  'product.updated': async (api) => {
    const made = await api.send('POST', '/v1/products', { product: { name: 'Thermometer' } });
    const product = field(made, 'product', 'product_id');
    await api.send('PATCH', `/v1/products/${product}`, { product: { name: 'Digital thermometer' } });
    return { product };
  },
  'checkout.session.completed': completeSession,
  'payment_intent.created': completeSession,
  'payment_intent.succeeded': completeSession,
  'charge.succeeded': completeSession,
  'payment_intent.payment_failed': declineSession,
  'charge.failed': declineSession,
  'checkout.session.expired': async (api) => {
    const { session } = await openSession(api, 'hsa');
    await api.send('POST', `/v1/checkout/sessions/${session}/expire`);
    return { session };
  },
  'checkout.session.refunded': refundSession,
  'refund.created': refundSession,
  'refund.updated': refundSession,
  'charge.refunded': refundSession,
  'charge.dispute.created': disputeCharge,
  'charge.dispute.funds_withdrawn': disputeCharge,
  'customer.subscription.created': subscribe,
  'invoice.created': subscribe,
  'invoice.paid': subscribe,
  'customer.subscription.deleted': async (api) => {
    const made = await subscribe(api);
    await api.send('DELETE', `/v1/subscriptions/${made.subscription}`);
    return made;
  },
};

async function completeSession(api: PublicApi): Promise<Record<string, string>> {
  const { customer, session, paymentMethod } = await openSession(api, 'hsa');
  await confirm(api, session, paymentMethod);
  return { customer, session };
}

// A declined card is what is wanted here: the refusal carries the event.
async function declineSession(api: PublicApi): Promise<Record<string, string>> {
  const { customer, session, paymentMethod } = await openSession(api, 'declined');
  try {
    await confirm(api, session, paymentMethod);
  } catch (error) {
    if (error instanceof Error && error.message.includes('returned 402')) return { customer, session };
    throw error;
  }
  throw new Error('The test card that always declines was not declined');
}

async function disputeCharge(api: PublicApi): Promise<Record<string, string>> {
  const made = await completeSession(api);
  const path = `/v1/checkout/sessions/${made.session}?expand=payment_intent`;
  const charge = /fch_[0-9a-z]{26}/.exec(JSON.stringify(await api.send('GET', path)))?.[0];
  if (charge === undefined) throw new Error('The confirmed session has no charge');
  const answer = await api.send('POST', '/v1/test_helpers/disputes', { dispute: { charge } });
  return { ...made, charge, dispute: field(answer, 'dispute', 'dispute_id') };
}

async function refundSession(api: PublicApi): Promise<Record<string, string>> {
  const made = await completeSession(api);
  await api.send('POST', `/v1/checkout/sessions/${made.session}/refund`, { checkout_session: { amount: 500 } });
  return made;
}

async function subscribe(api: PublicApi): Promise<Record<string, string>> {
  const customer = await makeCustomer(api);
  const paymentMethod = await makePaymentMethod(api, customer, 'hsa');
  const price = await makePrice(api, { recurring: { interval: 'month', interval_count: 1 } });
  const opened = await api.send('POST', '/v1/checkout/sessions', {
    checkout_session: {
      mode: 'subscription',
      customer,
      line_items: [{ price, quantity: 1 }],
      success_url: 'https://example.com/thanks',
    },
  });
  const session = field(opened, 'checkout_session', 'checkout_session_id');
  const completed = await api.send('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
    checkout_session: { payment_method: paymentMethod },
  });
  return { customer, session, subscription: field(completed, 'checkout_session', 'subscription') };
}

async function openSession(api: PublicApi, card: string) {
  const customer = await makeCustomer(api);
  const paymentMethod = await makePaymentMethod(api, customer, card);
  const price = await makePrice(api, {});
  const opened = await api.send('POST', '/v1/checkout/sessions', {
    checkout_session: {
      mode: 'payment',
      customer,
      line_items: [{ price, quantity: 1 }],
      success_url: 'https://example.com/thanks',
    },
  });
  return { customer, paymentMethod, session: field(opened, 'checkout_session', 'checkout_session_id') };
}

async function confirm(api: PublicApi, session: string, paymentMethod: string): Promise<void> {
  const body = { checkout_session: { payment_method: paymentMethod, capture_method: 'automatic' } };
  await api.send('POST', `/v1/checkout/sessions/${session}/confirm`, body, { 'idempotency-key': randomUUID() });
}

async function makeCustomer(api: PublicApi): Promise<string> {
  const made = await api.send('POST', '/v1/customers', { customer: { first_name: 'Test', last_name: 'Shopper' } });
  return field(made, 'customer', 'customer_id');
}

async function makePaymentMethod(api: PublicApi, customer: string, card: string): Promise<string> {
  const made = await api.send('POST', '/v1/test_helpers/payment_methods', {
    payment_method: { customer, card, off_session: true },
  });
  return field(made, 'payment_method', 'payment_method_id');
}

async function makePrice(api: PublicApi, more: object): Promise<string> {
  const made = await api.send('POST', '/v1/prices', {
    price: {
      unit_amount: 2_599,
      product_data: { name: 'Thermometer' },
      hsa_fsa_eligibility: 'auto_substantiation',
      ...more,
    },
  });
  return field(made, 'price', 'price_id');
}
