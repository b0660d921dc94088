import { evidenceFields, type JsonObject, limits } from '@eligo/contract';
import {
  address,
  component,
  couponCart,
  customer,
  customText,
  evidenceOf,
  inlineCart,
  many,
  metadata,
  price,
  product,
  repeated,
  shortText,
  text,
  turn,
  unique,
  url,
} from './largest-values.ts';
import type { WriteTarget } from './write-target.ts';

/** A write: the record that its path names, and its body without the envelope. */
export interface Write {
  readonly id?: string | undefined;
  readonly body?: JsonObject;
}

/** Writes of a route, by turns. Those that end a record are as many as there are records for it; the ones after them are refused. */
export type WritesOf = (target: WriteTarget) => readonly Write[];

/** The largest body that each write route takes, or the record that makes it work most. */
export const largestWrites: Readonly<Record<string, WritesOf>> = {
  'shipping_rates.create': () => [{ body: { display_name: shortText, amount: 500, metadata } }],
  'shipping_rates.update': ({ shippingRate }) => [{ id: shippingRate, body: { active: true, metadata } }],
  'product_components.create': () => [{ body: { name: unique(limits.shortTextLength), ...component } }],
  'product_components.update': ({ components }) => [{ id: components[0], body: component }],
  'products.create': ({ components }) => [{ body: product(components) }],
  'products.update': ({ components, products: [first] }) => [{ id: first, body: product(components) }],
  'products.update_by_body': ({ components, products: [first = ''] }) => [
    { body: { product_id: first, ...product(components) } },
  ],
  'prices.create': ({ components }) => [
    { body: { ...price, unit_amount: 2_000, recurring: { interval: 'month' }, product_data: product(components) } },
  ],
  'prices.update': ({ prices }) => [{ id: prices[0], body: price }],
  'prices.update_by_post': ({ prices }) => [{ id: prices[1], body: price }],
  'coupons.create': ({ prices }) => [
    {
      body: {
        ...{ name: shortText, percent_off: 0.01, metadata, max_redemptions: 1_000 },
        applies_to: { prices: repeated(prices, 1_000) },
      },
    },
  ],
  'coupons.delete': ({ coupons }) => coupons.map((id) => ({ id })),
  'promo_codes.create': ({ coupons, customer }) => [
    { body: { coupon_id: coupons.at(-1) ?? '', customer, code: unique(limits.shortTextLength), metadata } },
  ],
  'promo_codes.update': ({ promoCode }) => [{ id: promoCode, body: { active: true, metadata } }],
  'eligibility.evaluate': ({ prices, products }) => [
    {
      body: {
        items: many(limits.eligibilityItems, (at) => ({
          ...{ product: turn(products, at), price: turn(prices, at), quantity: 1, unit_amount: 100 },
          ...{ upc_code: text(100), gtin: text(100) },
        })),
      },
    },
  ],
  'customers.create': () => [{ body: customer }],
  'customers.update': ({ customer: id }) => [{ id, body: customer }],
  'customers.delete': ({ customersWithCards }) => customersWithCards.map((id) => ({ id })),
  'payment_methods.update': ({ card }) => [true, false].map((hsa_fsa) => ({ id: card, body: { card: { hsa_fsa } } })),
  'payment_methods.attach': ({ looseCards, customer }) => looseCards.map((id) => ({ id, body: { customer } })),
  'payment_methods.detach': ({ tiedCards }) => tiedCards.map((id) => ({ id })),
  'checkout_sessions.create': (target) => [
    { body: couponCart(target.prices, target.customer) },
    { body: inlineCart(target.customer) },
  ],
  'checkout_sessions.update': ({ openSessions }) => [
    { id: openSessions.update[0], body: { metadata, client_reference_id: shortText } },
  ],
  'checkout_sessions.confirm': ({ openSessions, card }) =>
    openSessions.confirm.map((id) => ({ id, body: { payment_method: card, capture_method: 'automatic' } })),
  // A session is captured fifty times at most.
  'checkout_sessions.capture': ({ heldSessions, prices }) =>
    heldSessions.flatMap((id) =>
      many(50, () => ({ id, body: { ...lines(prices, 'amount_to_capture'), capture_metadata: metadata } })),
    ),
  'checkout_sessions.preview_capture': ({ heldSessions, prices }) => [
    { id: heldSessions[0], body: { ...lines(prices, 'amount_to_capture'), capture_metadata: metadata } },
  ],
  'checkout_sessions.refund': ({ paidSession, prices }) => [
    { id: paidSession, body: { ...lines(prices, 'amount_to_refund'), refund_metadata: metadata } },
  ],
  'checkout_sessions.preview_refund': ({ paidSession, prices }) => [
    { id: paidSession, body: { ...lines(prices, 'amount_to_refund'), refund_metadata: metadata } },
  ],
  'checkout_sessions.cancel': ({ openSessions }) => openSessions.cancel.map((id) => ({ id })),
  'checkout_sessions.expire': ({ openSessions }) => openSessions.expire.map((id) => ({ id })),
  'payment_links.create': (target) => [
    {
      body: {
        line_items: target.prices.map((one) => ({ price: one, quantity: 1 })),
        ...{ success_url: url(), cancel_url: url(), custom_text: customText(limits.textLength), metadata },
        ...{ shipping_options: { shipping_rate_id: target.shippingRate }, shipping_address_collection: true },
      },
    },
  ],
  'payment_links.update': ({ paymentLink }) => [{ id: paymentLink, body: { active: true, metadata } }],
  'payment_intents.capture': ({ heldIntents }) =>
    heldIntents.map((id) => ({ id, body: { amount_to_capture: 1, capture_metadata: metadata } })),
  'refunds.create': ({ paidIntent }) => [
    { body: { payment_intent_id: paidIntent, amount: 1, reason: shortText, metadata } },
  ],
  'refunds.update': ({ refund }) => [{ id: refund, body: { reason: shortText, metadata } }],
  'disputes.update': ({ disputes: [dispute], evidenceFiles }) => [
    ...evidenceFiles.map((receipt) => ({ id: dispute, body: { evidence: { ...evidence, receipt }, metadata } })),
    ...many(20, () => ({ id: dispute, body: { evidence, metadata } })),
  ],
  'disputes.close': ({ disputes }) => disputes.slice(1).map((id) => ({ id })),
  'subscriptions.create': (target) => [{ body: { customer: target.customer, ...sold(target, 1) } }],
  // Each change of all quantities is prorated, invoiced and charged.
  'subscriptions.update': (target) =>
    [2, 1].map((quantity) => ({ id: target.subscriptions.change, body: sold(target, quantity) })),
  'subscriptions.pause': ({ subscriptions }) => [{ id: subscriptions.pause }],
  'subscriptions.resume': ({ subscriptions }) => [{ id: subscriptions.pause, body: { billing_cycle_anchor: 'now' } }],
  'subscriptions.cancel': ({ subscriptions }) =>
    subscriptions.cancel.map((id) => ({ id, body: { cancel_at_period_end: false, refund: 'prorated' } })),
  'subscriptions.resend_receipts': ({ subscriptions }) => [{ id: subscriptions.change }],
  'invoices.pay': ({ openInvoices, creditCard }) =>
    openInvoices.pay.map((id) => ({ id, body: { payment_method: creditCard } })),
  'invoices.void': ({ openInvoices }) => openInvoices.void.map((id) => ({ id })),
  // What is delivered to endpoints is an attack of its own.
  'webhooks.create': () => [{ body: { url: 'http://127.0.0.1:9/'.padEnd(limits.urlLength, 'p'), events: rareEvents } }],
  'webhooks.update': ({ webhooks: [webhook] }) => [{ id: webhook, body: { events: rareEvents } }],
  'webhooks.delete': ({ webhooks }) => webhooks.slice(1).map((id) => ({ id })),
  'webhooks.roll': ({ webhooks: [webhook] }) => [{ id: webhook }],
  'webhooks.test': ({ webhooks: [webhook] }) => [{ id: webhook }],
  'test_helpers.create_payment_method': ({ customer }) => [{ body: { customer, card: 'hsa', off_session: true } }],
  'test_helpers.complete_checkout_session': ({ openSessions, card }) =>
    openSessions.complete.map((id) => ({ id, body: { payment_method: card, shipping_details: address } })),
  'test_helpers.expire_checkout_session': ({ openSessions }) => openSessions.expireByHelper.map((id) => ({ id })),
  'test_helpers.fail_refund': ({ pendingRefunds }) => pendingRefunds.fail.map((id) => ({ id })),
  'test_helpers.succeed_refund': ({ pendingRefunds }) => pendingRefunds.succeed.map((id) => ({ id })),
  'test_helpers.approve_letter': ({ letters }) => letters.approve.map((id) => ({ id })),
  'test_helpers.deny_letter': ({ letters }) => letters.deny.map((id) => ({ id })),
  'test_helpers.create_dispute': ({ charges }) =>
    charges.map((charge) => ({ body: { charge, amount: 100, reason: shortText } })),
  'test_helpers.create_payout': () => [{}],
  'test_clocks.create': () => [{ body: { frozen_time: '2026-01-01T00:00:00Z', name: shortText } }],
  'test_clocks.delete': ({ testClocks }) => testClocks.map((id) => ({ id })),
};

/** Write routes whose worst case is an attack of its own, which has this name. */
export const attackOfRoute: Readonly<Record<string, string>> = {
  'files.create': 'uploads of 10 MB',
  'test_clocks.advance': 'two years of a clock with 50 daily subscriptions',
  'events.retry': 'retries of an event for 1,000 endpoints',
};

function lines(prices: readonly string[], amount: 'amount_to_capture' | 'amount_to_refund'): JsonObject {
  return { line_items: many(limits.refundLines, (at) => ({ price: turn(prices, at), [amount]: 1 })) };
}

function sold({ recurringPrices, creditCard }: WriteTarget, quantity: number): JsonObject {
  return {
    items: recurringPrices.map((one) => ({ price: one, quantity })),
    ...{ default_payment_method: creditCard, proration_behavior: 'always_invoice', metadata },
  };
}

const evidence = evidenceOf(evidenceFields);

// Of no attack here.
const rareEvents = many(limits.webhookEvents, () => 'webhook.disabled');
