import { type Constellation, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, record, records, text } from '../src/records.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

const subscribed = [
  'checkout.session.completed',
  'checkout.session.refunded',
  'refund.created',
  'customer.subscription.created',
  'customer.subscription.deleted',
  'invoice.paid',
];

/** A cart with a health card, from an empty catalog to a signed webhook, on an Eligo without any charge: the same path that the README tours. */
export function describeMainPath(started: () => Constellation): void {
  describe('the main path', () => {
    let eligo: Constellation;
    let receiver: Receiver;
    let secret: string;
    let shop: Shop;
    let customer: string;
    let card: string;
    let session: Json;
    let confirmed: Json;

    beforeAll(async () => {
      eligo = started();
      receiver = await startReceiver();
      const webhook = await make(eligo.api(), '/v1/webhooks', 'webhook', { url: receiver.url, events: subscribed });
      secret = text(webhook, 'signing_secret');
    });
    afterAll(() => receiver?.close());

    it('fills a catalog and takes a customer with a health card', async () => {
      const api = eligo.api();
      shop = await openShop(api);
      customer = await newCustomer(api, { first_name: 'Ada' });
      card = await newCard(api, customer, 'hsa');
      const method = record((await api.get(`/v1/payment_methods/${card}`)).body, 'payment_method');
      expect(method).toMatchObject({ customer, card: { hsa_fsa: true, last4: '0072' } });
    });

    it('creates a session whose totals and split are right to the cent, and reads it back with its lines [SESS-5]', async () => {
      const api = eligo.api();
      session = await newSession(api, shop, { customer });
      const id = text(session, 'checkout_session_id');
      // 49.99 + 2 × 25.00 = 99.99; + 7.99 shipping + 8.25 tax + 1.50 fee = 117.73.
      expect(session).toMatchObject({
        status: 'open',
        amount_subtotal: 9_999,
        amount_total: 11_773,
        amount_received: 0,
        hsa_fsa_eligible: true,
        total_details: { amount_shipping: 799, amount_tax: 825, amount_fee: 150, amount_discount: 0 },
      });
      expect(record((await api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session')).toEqual(session);
      const lines = records((await api.get(`/v1/checkout/sessions/${id}/line_items`)).body, 'line_items');
      const sum = (field: string) => lines.reduce((total, line) => total + Number(line[field]), 0);
      expect(sum('amount_total')).toBe(11_773);
      // Of 9,999 net, 4,999 are eligible: 799 → 399 or 400, 825 → 412 or 413, 150 → 75, by the largest remainder.
      const eligible = lines.find((line) => line.price === shop.eligiblePriceId);
      expect(eligible).toMatchObject({ amount_subtotal: 4_999, amount_shipping: 399, amount_tax: 412, amount_fee: 75 });
      expect(sum('amount_eligible')).toBe(5_885);
      expect(session.total_details).toMatchObject({ amount_iias: 5_885 });
    });

    it('confirms it with one charge at the sandbox, for exactly the eligible amount', async () => {
      const api = eligo.api();
      const id = text(session, 'checkout_session_id');
      const answer = await confirm(api, id, card, { key: 'order-1001' });
      expect(answer.status, answer.text).toBe(200);
      confirmed = record(answer.body, 'checkout_session');
      expect(confirmed).toMatchObject({ status: 'complete', amount_received: 5_885, amount_total: 11_773 });
      expect(confirmed.payment_intent).toMatchObject({ status: 'succeeded', amount: 5_885, checkout_session: id });
      const charges = records(await eligo.sandbox('GET', '/sandbox/charges'), 'data');
      expect(charges).toMatchObject([{ amount: 5_885, amount_captured: 5_885, status: 'succeeded' }]);

      const again = await confirm(api, id, card, { key: 'order-1001' });
      expect(again.text).toBe(answer.text);
      const other = await confirm(api, id, card, { key: 'order-1001', body: { capture_method: 'automatic' } });
      expect(other).toMatchObject({ status: 409, body: { code: 'idempotency_key_reused' } });
    });

    it('refunds part of it by line, to the card that paid [SREF-1]', async () => {
      const api = eligo.api();
      const id = text(session, 'checkout_session_id');
      const answer = await api.post(`/v1/checkout/sessions/${id}/refund`, {
        checkout_session: {
          line_items: [{ price: shop.eligiblePriceId, amount_to_refund: 1_000 }],
          refund_metadata: { ticket: '42' },
        },
      });
      expect(answer.status, answer.text).toBe(200);
      const refunded = record(answer.body, 'checkout_session');
      expect(refunded).toMatchObject({ amount_refunded: 1_000, amount_received: 5_885 });
      const [refundId] = refunded.refunds as string[];
      const refund = await waitUntil(async () => {
        const read = record((await api.get(`/v1/refunds/${refundId}`)).body, 'refund');
        return read.status === 'succeeded' && read;
      });
      expect(refund).toMatchObject({ amount: 1_000, metadata: { ticket: '42' } });
      const given = records(await eligo.sandbox('GET', '/sandbox/refunds'), 'data');
      expect(given).toMatchObject([{ amount: 1_000 }]);
    });

    it('starts a subscription through a completed session, and cancels it [SUB-5]', async () => {
      const api = eligo.api();
      const monthly = await make(api, '/v1/prices', 'price', {
        product: shop.eligibleProductId,
        unit_amount: 1_900,
        recurring: { interval: 'month', interval_count: 1 },
      });
      const started = await make(api, '/v1/checkout/sessions', 'checkout_session', {
        mode: 'subscription',
        line_items: [{ price: text(monthly, 'price_id'), quantity: 1 }],
        success_url: 'https://shop.example/done',
        customer,
      });
      const id = text(started, 'checkout_session_id');
      const done = record(
        await api.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, {
          body: { checkout_session: { payment_method: card } },
        }),
        'checkout_session',
      );
      expect(done).toMatchObject({ status: 'complete', amount_received: 1_900 });
      const subscriptionId = text(done, 'subscription');
      const subscription = record((await api.get(`/v1/subscriptions/${subscriptionId}`)).body, 'subscription');
      expect(subscription).toMatchObject({
        status: 'active',
        customer,
        latest_invoice: done.invoice,
        items: [{ price: monthly.price_id, quantity: 1 }],
      });
      const invoices = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices');
      expect(invoices).toMatchObject([{ invoice_id: done.invoice, status: 'paid', total: 1_900, amount_paid: 1_900 }]);
      const canceled = record((await api.delete(`/v1/subscriptions/${subscriptionId}`)).body, 'subscription');
      expect(canceled).toMatchObject({ status: 'canceled', subscription_id: subscriptionId });
      expect(canceled.canceled_at).toEqual(expect.any(String));
      const again = await api.delete(`/v1/subscriptions/${subscriptionId}`);
      expect(again).toMatchObject({ status: 409, body: { code: 'subscription_not_cancelable' } });
    });

    it('delivers each event once, signed, with the record as REST renders it [EVT-1]', async () => {
      const api = eligo.api();
      const id = text(session, 'checkout_session_id');
      const completed = await receiver.next(
        'checkout.session.completed',
        (body) => objectOf(body).checkout_session_id === id,
      );
      const collapsed = { ...confirmed, payment_intent: record(confirmed, 'payment_intent').payment_intent_id };
      expect(objectOf(completed.body)).toEqual(collapsed);

      const refunded = await receiver.next('checkout.session.refunded');
      expect(objectOf(refunded.body)).toMatchObject({ checkout_session_id: id, amount_refunded: 1_000 });
      const created = await receiver.next('refund.created');
      expect(objectOf(created.body)).toMatchObject({ amount: 1_000, status: 'pending' });
      await receiver.next('customer.subscription.created');
      const deleted = await receiver.next('customer.subscription.deleted');
      const subscriptionId = text(objectOf(deleted.body), 'subscription_id');
      const read = record((await api.get(`/v1/subscriptions/${subscriptionId}`)).body, 'subscription');
      expect(objectOf(deleted.body)).toEqual(read);
      await receiver.next('invoice.paid');

      const verifier = new Webhook(secret);
      for (const { raw, headers, body } of receiver.received) {
        expect(verifier.verify(raw, headers)).toEqual(body);
        expect(headers['webhook-id']).toBe(body.event_id);
      }
      const ids = receiver.received.map((one) => one.body.event_id);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });
}

// A webhook's object holds the record under its name.
function objectOf(body: Json): Json {
  const [only] = Object.values(record(body, 'object'));
  return only as Json;
}
