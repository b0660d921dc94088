import { type Api, waitUntil } from '@eligo/testkit';
import { type Json, record, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { expensiveCart } from './cart-attacks.ts';
import { listPaths, type NamedInPaths } from './list-paths.ts';
import { sideBySide } from './side-by-side.ts';
import { startSink } from './sink.ts';

/** A page. */
const count = 100;

/** Makes at least a page of records of each kind that a list has, by the public interface, so that the books agree. Throws for a list whose page is not full. */
export async function fillLists(account: AttackingAccount): Promise<NamedInPaths> {
  const api = account.unlimited;
  const endpoint = await idOf(api, '/v1/webhooks', 'webhook', { url: await startSink(), events: ['customer.created'] });
  const customers = await sideBySide(count, () => newCustomer(api));
  const prices = await fillCatalog(api, customers);
  const [first = ''] = customers;
  await sideBySide(count, () => newCard(api, first, 'hsa'));
  const cards = await sideBySide(count, (at) => newCard(api, customers[at] ?? '', 'hsa'));
  const shoppers = customers.map((customer, at) => ({ customer, card: cards[at] ?? '' }));
  await fillPayments(api, shoppers, prices);
  const subscription = await newLongSubscription(api, prices.daily);
  const named: NamedInPaths = {
    'customers.list_payment_methods': first,
    'checkout_sessions.list_line_items': (await expensiveCart(account)).session.split('/').at(-1) ?? '',
    'consumer_invoices.list': subscription,
    'webhooks.list_deliveries': endpoint,
  };
  // Receipts and deliveries follow events.
  for (const path of listPaths(named)) {
    await waitUntil(async () => (await pageLength(api, path)) >= count, { what: `a full page of ${path}` });
  }
  return named;
}

interface Prices {
  readonly eligible: string;
  readonly prescribed: string;
  readonly monthly: string;
  readonly daily: string;
}

interface Shopper {
  readonly customer: string;
  readonly card: string;
}

async function fillCatalog(api: Api, customers: readonly string[]): Promise<Prices> {
  const eligible = { name: 'Thermometer', hsa_fsa_eligibility: 'auto_substantiation' };
  const product = await idOf(api, '/v1/products', 'product', eligible);
  const coupon = await idOf(api, '/v1/coupons', 'coupon', { percent_off: 10 });
  const price = (fields: Json) => idOf(api, '/v1/prices', 'price', { unit_amount: 2_000, ...fields });
  await sideBySide(count, async (at) => {
    await make(api, '/v1/shipping_rates', 'shipping_rate', { display_name: 'Ground', amount: 500 });
    await make(api, '/v1/product_components', 'product_component', { name: `Oats ${crypto.randomUUID()}` });
    await make(api, '/v1/products', 'product', eligible);
    const one = await price({ product });
    await make(api, '/v1/coupons', 'coupon', { percent_off: 10 });
    const customer = customers[at];
    await make(api, '/v1/promo_codes', 'promo_code', { coupon, code: `CODE-${crypto.randomUUID()}`, customer });
    await make(api, '/v1/payment_links', 'payment_link', { line_items: [{ price: one, quantity: 1 }] });
    await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: new Date().toISOString() });
    // Nothing is delivered to them: what endpoints cost is an attack of its own.
    await make(api, '/v1/webhooks', 'webhook', { url: 'http://127.0.0.1:9/hook', events: ['webhook.disabled'] });
  });
  const letter = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  return {
    eligible: await price({ product }),
    prescribed: await price({ product_data: letter }),
    monthly: await price({ product, recurring: { interval: 'month' } }),
    daily: await price({ product, recurring: { interval: 'day' } }),
  };
}

// Of each shopper a payment with a capture, a refund, a dispute and receipts, a letter, a saved card, and a subscription with its invoice.
async function fillPayments(api: Api, shoppers: readonly Shopper[], prices: Prices): Promise<void> {
  await sideBySide(count, async (at) => {
    const { customer, card } = shoppers[at] as Shopper;
    const session = (price: string, fields: Json = {}) =>
      idOf(api, '/v1/checkout/sessions', 'checkout_session', {
        ...{ customer, line_items: [{ price, quantity: 1 }], success_url: 'https://shop.example/done' },
        ...fields,
      });
    const complete = (id: string) =>
      make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', { payment_method: card });
    const held = await session(prices.eligible, { capture_method: 'manual' });
    await complete(held);
    const captured = await make(api, `/v1/checkout/sessions/${held}/capture`, 'checkout_session', {});
    await make(api, `/v1/checkout/sessions/${held}/refund`, 'checkout_session', { amount: 100 });
    const intent = await api.ok('GET', `/v1/payment_intents/${text(captured, 'payment_intent')}`);
    const charge = text(record(intent, 'payment_intent'), 'latest_charge');
    await make(api, '/v1/test_helpers/disputes', 'dispute', { charge, amount: 100 });
    await complete(await session(prices.prescribed));
    await complete(await session(prices.eligible, { mode: 'setup', line_items: [] }));
    const items = [{ price: prices.monthly, quantity: 1 }];
    await make(api, '/v1/subscriptions', 'subscription', { customer, items, default_payment_method: card });
  });
  const { customer, card } = shoppers[0] as Shopper;
  const items = [{ price: prices.monthly, quantity: 1 }];
  // A payout is of what came in since the last one.
  for (let payout = 0; payout < count; payout++) {
    await make(api, '/v1/subscriptions', 'subscription', { customer, items, default_payment_method: card });
    await make(api, '/v1/test_helpers/payouts', 'payout', {});
  }
}

// A hundred days of a daily one.
async function newLongSubscription(api: Api, price: string): Promise<string> {
  const clocks = '/v1/test_helpers/test_clocks';
  const clock = await idOf(api, clocks, 'test_clock', { frozen_time: new Date().toISOString() });
  const customer = await newCustomer(api, { test_clock: clock });
  const sold = {
    customer,
    items: [{ price, quantity: 1 }],
    default_payment_method: await newCard(api, customer, 'hsa'),
  };
  const subscription = await idOf(api, '/v1/subscriptions', 'subscription', sold);
  const frozen_time = new Date(Date.now() + count * 86_400_000).toISOString();
  await api.ok('POST', `${clocks}/${clock}/advance`, { body: { test_clock: { frozen_time } } });
  const isReady = async () => record(await api.ok('GET', `${clocks}/${clock}`), 'test_clock').status === 'ready';
  await waitUntil(isReady, { what: 'a hundred days of a test clock', withinMs: 120_000 });
  return subscription;
}

async function idOf(api: Api, path: string, envelope: string, fields: Json): Promise<string> {
  return text(await make(api, path, envelope, fields), `${envelope}_id`);
}

async function pageLength(api: Api, path: string): Promise<number> {
  const list = Object.values(await api.ok('GET', path)).find(Array.isArray);
  return list?.length ?? 0;
}
