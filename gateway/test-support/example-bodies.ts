import type { JsonObject, Route } from '@eligo/contract';

/** The records that example bodies refer to. */
export interface ExampleReferences {
  readonly price: string;
  readonly recurring_price: string;
  readonly product: string;
  readonly coupon: string;
  readonly customer: string;
  readonly payment_method: string;
  readonly payment_intent: string;
  readonly charge: string;
}

/**
 * The JSON that a route accepts, its references taken from `refs`; undefined where it takes none. Throws for a route without an example, so that no
 * route is left out of a probe unseen.
 */
export function exampleBody(route: Route, refs: ExampleReferences): JsonObject | undefined {
  if (route.body === undefined || route.body.file !== undefined) return undefined;
  const make = examples[route.id];
  if (make === undefined) throw new Error(`${route.id} has no example body`);
  const inside = make(refs);
  return route.body.envelope === null ? inside : { [route.body.envelope]: inside };
}

const examples: Readonly<Record<string, (refs: ExampleReferences) => JsonObject>> = {
  'shipping_rates.create': () => ({ display_name: 'Ground', amount: 500 }),
  'shipping_rates.update': () => ({ active: true }),
  'product_components.create': () => ({ name: `Oats ${crypto.randomUUID()}` }),
  'product_components.update': () => ({ vegan: true }),
  'products.create': () => ({ name: 'Thermometer' }),
  'products.update': () => ({ description: 'Changed' }),
  'products.update_by_body': ({ product }) => ({ product_id: product, description: 'Changed' }),
  'prices.create': ({ product }) => ({ product, unit_amount: 1999 }),
  'prices.update': () => ({ description: 'Changed' }),
  'prices.update_by_post': () => ({ description: 'Changed' }),
  'coupons.create': () => ({ amount_off: 100 }),
  'promo_codes.create': ({ coupon }) => ({ coupon_id: coupon, code: `CODE-${crypto.randomUUID()}` }),
  'promo_codes.update': () => ({ active: true }),
  'eligibility.evaluate': ({ product }) => ({ items: [{ product, quantity: 1, unit_amount: 100 }] }),
  'customers.create': () => ({ email: 'shopper@example.com' }),
  'customers.update': () => ({ employer: 'Engines' }),
  'payment_methods.update': () => ({ card: { hsa_fsa: true } }),
  'payment_methods.attach': ({ customer }) => ({ customer }),
  'payment_links.create': ({ price }) => ({ line_items: [{ price, quantity: 1 }] }),
  'payment_links.update': () => ({ active: true }),
  'checkout_sessions.create': ({ price, customer }) => ({
    line_items: [{ price, quantity: 1 }],
    customer,
    success_url: 'https://shop.example/ok',
  }),
  'checkout_sessions.update': () => ({ metadata: { changed: 'yes' } }),
  'checkout_sessions.confirm': ({ payment_method }) => ({ payment_method, capture_method: 'automatic' }),
  'checkout_sessions.capture': () => ({ amount: 1, final_capture: true }),
  'checkout_sessions.preview_capture': () => ({ amount: 1 }),
  'payment_intents.capture': () => ({ amount_to_capture: 1 }),
  'checkout_sessions.refund': () => ({ amount: 1 }),
  'checkout_sessions.preview_refund': () => ({ amount: 1 }),
  'refunds.create': ({ payment_intent }) => ({ payment_intent_id: payment_intent, amount: 1 }),
  'refunds.update': () => ({ reason: 'duplicate' }),
  'subscriptions.create': ({ customer, recurring_price }) => ({
    customer,
    items: [{ price: recurring_price, quantity: 1 }],
  }),
  'disputes.update': () => ({ evidence: { product_description: 'A thermometer' } }),
  'test_helpers.create_dispute': ({ charge }) => ({ charge, amount: 1 }),
  'subscriptions.update': () => ({ metadata: { changed: 'yes' } }),
  'subscriptions.resume': () => ({ billing_cycle_anchor: 'unchanged' }),
  'subscriptions.cancel': () => ({ cancel_at_period_end: true }),
  'invoices.pay': ({ payment_method }) => ({ payment_method }),
  'webhooks.create': () => ({ url: 'https://shop.example/hooks', events: ['*'] }),
  'webhooks.update': () => ({ events: ['refund.created'] }),
  'test_helpers.create_payment_method': ({ customer }) => ({ customer, card: 'hsa' }),
  'test_helpers.complete_checkout_session': () => ({ payment_method: 'hsa' }),
  'test_clocks.create': () => ({ frozen_time: '2026-01-01T00:00:00Z' }),
  'test_clocks.advance': () => ({ frozen_time: '2036-01-01T00:00:00Z' }),
};
