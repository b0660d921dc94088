import { randomUUID } from 'node:crypto';
import { type Api, type ApiAnswer, waitUntil } from '@eligo/testkit';
import { type Json, record, text } from './records.ts';

/** What a shop has in its catalog: a rate, an eligible and an ordinary product with their prices. */
export interface Shop {
  readonly rateId: string;
  readonly eligiblePriceId: string;
  readonly otherPriceId: string;
  readonly eligibleProductId: string;
}

/** Fills a catalog through the public interface: one price attached to a product, one with its product inline. */
export async function openShop(api: Api): Promise<Shop> {
  const rate = await makeOnceServed(api, '/v1/shipping_rates', 'shipping_rate', {
    display_name: 'Ground',
    amount: 799,
  });
  const product = await makeOnceServed(api, '/v1/products', 'product', {
    name: 'Blood pressure monitor',
    hsa_fsa_eligibility: 'auto_substantiation',
  });
  const eligible = await makeOnceServed(api, '/v1/prices', 'price', {
    product: text(product, 'product_id'),
    unit_amount: 4_999,
    metadata: { shelf: 'a1' },
  });
  const other = await makeOnceServed(api, '/v1/prices', 'price', {
    product_data: { name: 'Bath towel', hsa_fsa_eligibility: 'not_eligible' },
    unit_amount: 2_500,
  });
  return {
    rateId: text(rate, 'shipping_rate_id'),
    eligibleProductId: text(product, 'product_id'),
    eligiblePriceId: text(eligible, 'price_id'),
    otherPriceId: text(other, 'price_id'),
  };
}

// A process that has just started on a busy machine may need longer for its first connections than a request waits for one.
async function makeOnceServed(api: Api, path: string, envelope: string, fields: Json): Promise<Json> {
  const answer = await waitUntil(
    async () => {
      const given = await api.post(path, { [envelope]: fields });
      return given.status !== 503 && given;
    },
    { withinMs: 60_000, everyMs: 200, what: `an answer of ${path}` },
  );
  return record(answer.body, envelope);
}

/** A new customer's id. */
export async function newCustomer(api: Api, fields: Json = {}): Promise<string> {
  return text(await make(api, '/v1/customers', 'customer', { email: 'ada@example.com', ...fields }), 'customer_id');
}

/** A payment method from one of the sandbox's test cards. */
export async function newCard(api: Api, customer: string, card: string, fields: Json = {}): Promise<string> {
  const made = await make(api, '/v1/test_helpers/payment_methods', 'payment_method', { customer, card, ...fields });
  return text(made, 'payment_method_id');
}

/** A session in payment mode with both prices, shipping, tax and a fee. */
export function newSession(api: Api, shop: Shop, fields: Json = {}): Promise<Json> {
  return make(api, '/v1/checkout/sessions', 'checkout_session', { ...cartOf(shop), ...fields });
}

/** What a session of `newSession` is made of. */
export function cartOf(shop: Shop): Json {
  return {
    line_items: [
      { price: shop.eligiblePriceId, quantity: 1 },
      { price: shop.otherPriceId, quantity: 2 },
    ],
    success_url: 'https://shop.example/done?session={CHECKOUT_SESSION_ID}',
    shipping_options: { shipping_rate_id: shop.rateId },
    tax_rate: { amount: 825 },
    fees: [{ amount: 150, name: 'Handling' }],
  };
}

/** Confirms a session; the answer whatever it is. */
export function confirm(
  api: Api,
  sessionId: string,
  paymentMethod: string,
  options: { key?: string; body?: Json; query?: string } = {},
): Promise<ApiAnswer> {
  return api.post(
    `/v1/checkout/sessions/${sessionId}/confirm${options.query ?? ''}`,
    { checkout_session: { payment_method: paymentMethod, ...options.body } },
    { idempotencyKey: options.key ?? randomUUID() },
  );
}

/** What a sale of `sellCart` left: its session, and the refund of a part. */
export interface CartSale {
  readonly sessionId: string;
  readonly refundId: string;
}

/** Sells a cart to a customer with a card, and refunds a part of it; throws unless each answer is as it should be. */
export async function sellCart(api: Api, shop: Shop, customer: string, card: string): Promise<CartSale> {
  const sessionId = text(await newSession(api, shop, { customer }), 'checkout_session_id');
  const answer = await confirm(api, sessionId, card);
  if (answer.status !== 200) throw new Error(`confirm: ${answer.status} ${answer.text}`);
  const refunded = await make(api, `/v1/checkout/sessions/${sessionId}/refund`, 'checkout_session', {
    line_items: [{ price: shop.eligiblePriceId, amount_to_refund: 1_000 }],
  });
  const read = record(await api.ok('GET', `/v1/checkout/sessions/${sessionId}`), 'checkout_session');
  if (read.status !== 'complete') throw new Error(`session ${sessionId} is ${String(read.status)}`);
  return { sessionId, refundId: String((refunded.refunds as unknown[])[0]) };
}

/** Sells a subscription in a session, which one card pays. */
export async function sellSubscription(
  api: Api,
  shop: Shop,
  customer: string,
  card: string,
  fields: Json = {},
): Promise<{ session: string; subscription: string }> {
  const price = await make(api, '/v1/prices', 'price', {
    product: shop.eligibleProductId,
    unit_amount: 1_900,
    recurring: { interval: 'month' },
  });
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
    ...{ mode: 'subscription', customer, line_items: [{ price: text(price, 'price_id'), quantity: 1 }] },
    ...{ success_url: 'https://shop.example/ok', ...fields },
  });
  const id = text(session, 'checkout_session_id');
  const done = await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, {
    body: { checkout_session: { payment_method: card } },
  });
  return { session: id, subscription: text(record(done, 'checkout_session'), 'subscription') };
}

/** Creates a record and answers it; throws unless the answer is 2xx. */
export async function make(api: Api, path: string, envelope: string, fields: Json): Promise<Json> {
  return record(await api.ok('POST', path, { body: { [envelope]: fields } }), envelope);
}
