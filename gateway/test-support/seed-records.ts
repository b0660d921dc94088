import type { JsonObject } from '@eligo/contract';
import type { IdKind } from '@eligo/values';
import type { ExampleReferences } from './example-bodies.ts';
import { send } from './send.ts';
import { exampleForm } from './upload.ts';

/** Records of every kind that a path can name, made by public calls under one test key. */
export interface SeededRecords {
  readonly own: Readonly<Partial<Record<IdKind, string>>>;
  readonly references: ExampleReferences;
}

/**
 * Makes a record of every kind; a receipt only with `receipts`, where the account has that feature. Throws with the answer of the first call
 * that is refused.
 */
export async function seedRecords(
  url: string,
  key: string,
  { receipts = false }: { receipts?: boolean } = {},
): Promise<SeededRecords> {
  const api = clientOf(url, key);
  const shippingRate = await api.make('shipping_rate', '/v1/shipping_rates', { display_name: 'Ground', amount: 500 });
  const component = await api.make('product_component', '/v1/product_components', {
    name: `Oats ${crypto.randomUUID()}`,
  });
  const product = await api.id('product', '/v1/products', {
    name: 'Thermometer',
    hsa_fsa_eligibility: 'auto_substantiation',
  });
  const price = await api.id('price', '/v1/prices', { product, unit_amount: 1999 });
  const recurring = { interval: 'month' };
  const monthly = await api.id('price', '/v1/prices', { product, unit_amount: 2999, recurring });
  const coupon = await api.id('coupon', '/v1/coupons', { percent_off: 10 });
  const paymentLink = await api.id('payment_link', '/v1/payment_links', { line_items: [{ price, quantity: 1 }] });
  const code = `SEED-${crypto.randomUUID()}`;
  const promoCode = await api.id('promo_code', '/v1/promo_codes', { coupon_id: coupon, code });
  const customer = await api.id('customer', '/v1/customers', { email: 'shopper@example.com' });
  const card = { customer, card: 'hsa' };
  const paymentMethod = await api.id('payment_method', '/v1/test_helpers/payment_methods', card);
  const clock = { frozen_time: '2026-01-01T00:00:00Z' };
  const testClock = await api.id('test_clock', '/v1/test_helpers/test_clocks', clock);
  const hook = { url: 'http://127.0.0.1:9/hooks', events: ['*'] };
  const webhook = await api.id('webhook', '/v1/webhooks', hook);

  const session = (more: JsonObject) => {
    const lines = [{ price, quantity: 1 }];
    const body = { line_items: lines, success_url: 'https://shop.example/ok', customer, ...more };
    return api.id('checkout_session', '/v1/checkout/sessions', body);
  };
  const complete = async (id: string) =>
    api.make('checkout_session', `/v1/test_helpers/checkout/sessions/${id}/complete`, {
      payment_method: paymentMethod,
    });

  const open = await session({});
  const paid = `/v1/checkout/sessions/${await session({})}`;
  const confirmed = await api.make('checkout_session', `${paid}/confirm`, { payment_method: paymentMethod });
  const intent = confirmed.payment_intent as JsonObject;
  const refunded = await api.make('checkout_session', `${paid}/refund`, { amount: 100 });
  const subscribed = await complete(
    await session({ mode: 'subscription', line_items: [{ price: monthly, quantity: 1 }] }),
  );
  const prepared = await complete(await session({ mode: 'setup', line_items: [] }));
  const letterProduct = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  const prescribed = await api.id('price', '/v1/prices', { product_data: letterProduct, unit_amount: 19_900 });
  const held = await session({ line_items: [{ price: prescribed, quantity: 1 }] });
  await complete(held);
  const letter = await api.first('letters', `/v1/letters?checkout_session=${held}`);
  const plain = { name: 'Bath towel', hsa_fsa_eligibility: 'not_eligible' };
  const towel = await api.id('price', '/v1/prices', { product_data: plain, unit_amount: 2_500 });
  const mixed = await session({ line_items: [price, towel].map((one) => ({ price: one, quantity: 1 })) });
  // The health card's hold is captured once the other card has paid.
  const captured = await api.make('checkout_session', `/v1/test_helpers/checkout/sessions/${mixed}/complete`, {
    payment_method: paymentMethod,
    second_payment_method: 'credit',
  });
  const contested = await api.make('checkout_session', `/v1/checkout/sessions/${await session({})}/confirm`, {
    payment_method: paymentMethod,
  });
  const charge = text((contested.payment_intent as JsonObject).latest_charge);
  const dispute = await api.make('dispute', '/v1/test_helpers/disputes', { charge, amount: 100 });
  const payout = await api.make('payout', '/v1/test_helpers/payouts');
  const event = await api.first('events', '/v1/events');
  const receipt = receipts ? text((await api.first('receipts', '/v1/receipts')).receipt_id) : undefined;

  const paymentIntent = text(intent.payment_intent_id);
  return {
    own: {
      balance_transaction: text((dispute.balance_transactions as readonly unknown[])[0]),
      capture: text((captured.captures as readonly unknown[])[0]),
      charge: text(intent.latest_charge),
      checkout_session: open,
      coupon,
      customer,
      dispute: text(dispute.dispute_id),
      event: text(event.event_id),
      file: await api.upload(),
      invoice: text(subscribed.invoice),
      letter: text(letter.letter_id),
      payment_intent: paymentIntent,
      payment_link: paymentLink,
      payment_method: paymentMethod,
      payout: text(payout.payout_id),
      price,
      product,
      product_component: text(component.component_id),
      promo_code: promoCode,
      ...(receipt === undefined ? {} : { receipt }),
      refund: text((refunded.refunds as readonly unknown[])[0]),
      setup_intent: text(prepared.setup_intent),
      shipping_rate: text(shippingRate.shipping_rate_id),
      subscription: text(subscribed.subscription),
      test_clock: testClock,
      webhook_endpoint: webhook,
    },
    references: {
      price,
      recurring_price: monthly,
      product,
      coupon,
      customer,
      payment_method: paymentMethod,
      payment_intent: paymentIntent,
      charge: text(intent.latest_charge),
    },
  };
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error('a seeded record has no identifier');
  return value;
}

/** Events take a moment to arrive; a stack on which they have not by then is broken. */
const patienceMs = 15_000;

function clientOf(url: string, key: string) {
  const ask = async (method: string, path: string, body?: JsonObject): Promise<JsonObject> => {
    const reply = await send(url, {
      method,
      path,
      key,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: { 'idempotency-key': crypto.randomUUID() },
    });
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.json as JsonObject;
  };
  const make = async (envelope: string, path: string, fields?: JsonObject) =>
    (await ask('POST', path, fields === undefined ? {} : { [envelope]: fields }))[envelope] as JsonObject;
  return {
    make,
    /** Uploads a small file. */
    async upload(): Promise<string> {
      const reply = await send(url, { method: 'POST', path: '/v1/files', key, ...exampleForm('file') });
      if (reply.status !== 200) throw new Error(`POST /v1/files: ${reply.status} ${reply.text}`);
      return text(((reply.json as JsonObject).file as JsonObject).file_id);
    },
    /** Makes a record whose identifier is called as its envelope is. */
    id: async (envelope: string, path: string, fields: JsonObject) =>
      text((await make(envelope, path, fields))[`${envelope}_id`]),
    /** The first of a list, once there is one. */
    async first(plural: string, path: string): Promise<JsonObject> {
      const startedAt = performance.now();
      for (;;) {
        const [first] = (await ask('GET', path))[plural] as readonly JsonObject[];
        if (first !== undefined) return first;
        if (performance.now() - startedAt > patienceMs) throw new Error(`${path} stayed empty`);
      }
    },
  };
}
