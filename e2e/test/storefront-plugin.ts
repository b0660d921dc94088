import { createHash, randomUUID } from 'node:crypto';
import { sandboxAccountOf } from '@eligo/processor';
import { type Api, type Constellation, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, record, records, text } from '../src/records.ts';
import { make } from '../src/shop.ts';

/** What a plugin of a shop asks to be told of. */
const subscribed = [
  'checkout.session.completed',
  'checkout.session.expired',
  'checkout.session.refunded',
  'refund.created',
];

/** A shop's order. */
interface Order {
  readonly number: string;
  readonly metadata?: Json;
  readonly captureMethod?: 'manual';
  readonly quantity?: number;
  /** What a coupon of the shop takes off the whole cart. */
  readonly discount?: number;
}

/**
 * A shop's plugin, by the interface's sentences alone: products by their codes, a cart with an inline item, the redirect, the page, the shopper's way back, a signed
 * webhook, captures, refunds, cancellations and changed carts. Each write has an `Idempotency-Key` that is a hash of its order (decisions 1.1).
 */
export function describeStorefrontPlugin(started: () => Constellation): void {
  describe('a plugin of a shop', () => {
    let eligo: Constellation;
    let api: Api;
    let receiver: Receiver;
    let secret: string;
    let rate: string;
    const sku = `BPM-${randomUUID()}`;

    beforeAll(async () => {
      eligo = started();
      api = eligo.api();
      receiver = await startReceiver();
      const webhook = await make(api, '/v1/webhooks', 'webhook', { url: receiver.url, events: subscribed });
      secret = text(webhook, 'signing_secret');
      rate = text(
        await make(api, '/v1/shipping_rates', 'shipping_rate', { display_name: 'Ground', amount: 599 }),
        'shipping_rate_id',
      );
      await make(api, '/v1/prices', 'price', {
        ...{ lookup_key: sku, unit_amount: 4_000 },
        product_data: {
          name: 'Blood pressure monitor',
          client_reference_id: sku,
          hsa_fsa_eligibility: 'auto_substantiation',
        },
      });
    });
    afterAll(() => receiver?.close());

    const keyOf = (...parts: string[]) => createHash('sha256').update(parts.join(':')).digest('hex');
    const write = async (path: string, body: Json, key: string) =>
      record(await api.ok('POST', path, { body: { checkout_session: body }, idempotencyKey: key }), 'checkout_session');
    const read = async (id: string, query = '') =>
      record(await api.ok('GET', `/v1/checkout/sessions/${id}${query}`), 'checkout_session');

    /** Sends an order's cart: an item by its code, and one that only the cart knows. */
    async function begin({ number, metadata = {}, captureMethod, quantity = 1, discount }: Order): Promise<Json> {
      const [price] = records(await api.ok('GET', `/v1/prices?lookup_keys[]=${sku}`), 'prices');
      const body = {
        line_items: [
          { price: text(price as Json, 'price_id'), quantity },
          { price_data: { unit_amount: 2_000, product_data: { name: 'Gift wrap' } }, quantity: 1 },
        ],
        ...{ mode: 'payment', client_reference_id: number, metadata: { order: number, ...metadata } },
        success_url: 'https://shop.example/thanks?session={CHECKOUT_SESSION_ID}',
        cancel_url: 'https://shop.example/cart',
        ...{ shipping_options: { shipping_rate_id: rate }, tax_rate: { amount: 601 } },
        defaults: { email: 'ann@example.com', first_name: 'Ann', last_name: '' },
        ...(captureMethod === undefined ? {} : { capture_method: captureMethod }),
        ...(discount === undefined ? {} : { discounts: [{ coupon_data: { amount_off: discount } }] }),
      };
      return write('/v1/checkout/sessions', body, keyOf('create', number));
    }

    /** What the shopper's browser does at `redirect_url`: the document, the session, and a payment with what the processor's fields make of each card. */
    async function visit(url: string): Promise<Json> {
      const document = await fetch(url);
      expect([document.status, document.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^text\/html/),
      ]);
      expect(document.headers.get('content-security-policy')).toContain("default-src 'none'");
      return (await (await fetch(`${url}/session`)).json()) as Json;
    }
    async function pay(url: string): Promise<Json> {
      const shown = await visit(url);
      const [health, other] = await Promise.all([token('tok_hsa'), token('tok_visa')]);
      const body = {
        cards: [
          { payment_method: health, slot: 'health' },
          { payment_method: other, slot: 'other' },
        ],
        ...(typeof shown.split_version === 'string' ? { shown_split: shown.split_version } : {}),
      };
      const answer = await fetch(`${url}/pay`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
      });
      const view = (await answer.json()) as Json;
      expect(answer.status, JSON.stringify(view)).toBe(200);
      return view;
    }
    /** A hold, once it is there: the page's answer may come before the second card's. */
    const paid = (id: string): Promise<Json> =>
      waitUntil(async () => {
        const now = await read(id);
        return now.status === 'paid' && now;
      });
    async function token(card: string): Promise<string> {
      const scope = { accountId: eligo.account, testMode: true };
      const answer = await fetch(`${eligo.processor.url}/v1/test_helpers/confirmation_tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${eligo.processor.key}`, 'stripe-account': sandboxAccountOf(scope) },
        body: new URLSearchParams({ 'payment_method_data[type]': 'card', 'payment_method_data[card][token]': card }),
      });
      return text((await answer.json()) as Json, 'id');
    }
    const told = async (type: string, id: string): Promise<Json> => {
      const of = (body: Json) => Object.values(record(body, 'object'))[0] as Json;
      const { raw, headers, body } = await receiver.next(type, (sent) => of(sent).checkout_session_id === id);
      // By the library that a receiver uses: a webhook that is not signed is not believed.
      expect(new Webhook(secret).verify(raw, headers)).toEqual(body);
      return of(body);
    };

    it('sends a cart, has it paid on the page, hears of it, and gives parts of it back [EVT-1, SREF-1, SREF-2, D1.1, D1.7, D14.82]', async () => {
      const number = `1001-${randomUUID()}`;
      const session = await begin({ number });
      const id = text(session, 'checkout_session_id');
      // 40.00 + 20.00 + 5.99 shipping + 6.01 tax.
      expect(session).toMatchObject({
        status: 'open',
        amount_total: 7_200,
        client_reference_id: number,
        payment_intent: null,
      });
      // A client that got no answer asks again.
      expect(text(await begin({ number }), 'checkout_session_id')).toBe(id);
      const url = text(session, 'redirect_url');
      await pay(url);
      const done = await waitUntil(async () => {
        const now = await read(id);
        return now.status === 'complete' && now;
      });
      expect(done).toMatchObject({ amount_received: 7_200, success_url: `https://shop.example/thanks?session=${id}` });
      expect(await told('checkout.session.completed', id)).toEqual(done);
      // On the way back the shop finds its order by its own number, and by the payment.
      const found = records(
        await api.ok('GET', `/v1/checkout/sessions?client_reference_id=${number}`),
        'checkout_sessions',
      );
      expect(found.map((one) => one.checkout_session_id)).toEqual([id]);
      const byPayment = await api.ok('GET', `/v1/checkout/sessions?payment_intent=${text(done, 'payment_intent')}`);
      expect(records(byPayment, 'checkout_sessions')).toHaveLength(1);
      expect(await read(id, '?expand_customer=true&expand_payment_intent=true')).toMatchObject({
        payment_intent: { status: 'succeeded' },
      });
      // It writes the whole record back with its order's identifier (decisions 1.2).
      const written = await write(
        `/v1/checkout/sessions/${id}`,
        { ...done, metadata: { order: number, shipped: 'no' } },
        keyOf('update', id),
      );
      expect(written.metadata).toEqual({ order: number, shipped: 'no' });

      const lines = records(await api.ok('GET', `/v1/checkout/sessions/${id}/line_items`), 'line_items');
      const [monitor] = lines;
      const part = {
        line_items: [{ price: text(monitor as Json, 'price'), amount_to_refund: 1_500 }],
        amount_tax: 100,
      };
      const key = keyOf('refund', id, '1');
      const refunded = await write(
        `/v1/checkout/sessions/${id}/refund`,
        { ...part, refund_metadata: { reason: 'damaged' } },
        key,
      );
      expect(refunded.amount_refunded).toBe(1_600);
      expect(await told('checkout.session.refunded', id)).toMatchObject({ amount_refunded: 1_600 });
      const again = await write(
        `/v1/checkout/sessions/${id}/refund`,
        { ...part, refund_metadata: { reason: 'damaged' } },
        key,
      );
      expect(again).toEqual(refunded);
      const all = await write(`/v1/checkout/sessions/${id}/refund`, {}, keyOf('refund', id, '2'));
      expect(all).toMatchObject({ amount_refunded: 7_200, refunds: [expect.any(String), expect.any(String)] });
      const beyond = await api.post(`/v1/checkout/sessions/${id}/refund`, { checkout_session: { amount: 1 } });
      expect([beyond.status, beyond.body]).toMatchObject([422, { code: 'refund_amount_exceeds_remaining' }]);
    }, 120_000);

    it('captures what it ships, in parts, and gives back what came back, from the captures that took it [D14.101, D14.238]', async () => {
      const session = await begin({ number: `1002-${randomUUID()}`, captureMethod: 'manual' });
      const id = text(session, 'checkout_session_id');
      await pay(text(session, 'redirect_url'));
      expect(await paid(id)).toMatchObject({ amount_received: 0 });
      const lines = records(await api.ok('GET', `/v1/checkout/sessions/${id}/line_items`), 'line_items');
      const [monitor, wrap] = lines.map((line) => text(line, 'price'));
      const capture = (body: Json, key: string) =>
        write(`/v1/checkout/sessions/${id}/capture`, body, keyOf('capture', id, key));
      const first = await capture({ line_items: [{ price: monitor, amount_to_capture: 1_000 }] }, '1');
      expect(first).toMatchObject({ status: 'paid', amount_received: 1_000 });
      expect(await capture({ line_items: [{ price: monitor, amount_to_capture: 1_000 }] }, '1')).toEqual(first);
      const last = await capture(
        {
          line_items: [
            { price: monitor, amount_to_capture: 2_000 },
            { price: wrap, amount_to_capture: 500 },
          ],
          final_capture: true,
        },
        '2',
      );
      expect(last).toMatchObject({ status: 'complete', amount_received: 3_500 });
      const captures = records(await api.ok('GET', `/v1/captures?checkout_session=${id}`), 'captures');
      expect(captures.map((one) => one.amount_captured)).toEqual([2_500, 1_000]);
      const [newest, oldest] = captures.map((one) => text(one, 'capture_id'));
      expect(last.captures).toEqual([oldest, newest]);

      const refund = { line_items: [{ price: monitor, amount_to_refund: 1_200 }] };
      expect(await write(`/v1/checkout/sessions/${id}/refund`, refund, keyOf('refund', id))).toMatchObject({
        amount_refunded: 1_200,
      });
      const [refundId] = (await read(id)).refunds as string[];
      await waitUntil(
        async () => record(await api.ok('GET', `/v1/refunds/${refundId}`), 'refund').status === 'succeeded',
      );
      const atProcessor = records(await eligo.sandbox('GET', '/sandbox/refunds'), 'data').find(
        ({ metadata }) => (metadata as Json).refund === refundId,
      );
      expect(atProcessor).toMatchObject({ metadata: { sandbox_captures_0: `${oldest}=1000,${newest}=200` } });
    }, 120_000);

    it('captures an order in two parcels by its items before the discount, the first one with all the shipping, and no more than there is of each [D14.100, D14.303]', async () => {
      const session = await begin({ number: `1006-${randomUUID()}`, captureMethod: 'manual', discount: 600 });
      const id = text(session, 'checkout_session_id');
      await pay(text(session, 'redirect_url'));
      // 40.00 + 20.00 - 6.00 + 5.99 shipping + 6.01 tax.
      expect(await paid(id)).toMatchObject({ amount_total: 6_600, amount_received: 0 });
      const lines = records(await api.ok('GET', `/v1/checkout/sessions/${id}/line_items`), 'line_items');
      const [monitor, wrap] = lines.map((line) => text(line, 'price'));
      const allocated = async (body: Json) =>
        records(
          await api.ok('POST', `/v1/checkout/sessions/${id}/capture_allocation`, { body: { checkout_session: body } }),
          'allocations',
        ).map((one) => one.amount);
      const items = [
        { price: monitor, amount_to_capture: 4_000 },
        { price: wrap, amount_to_capture: 2_000 },
      ];
      const whole = { amount_shipping: 599, amount_tax: 601, amount_discount: 600 };
      // Each card gives what it was authorized for, as for a capture that states nothing.
      expect(await allocated({ line_items: items, ...whole })).toEqual(await allocated({}));
      const capture = (body: Json, key: string) =>
        write(`/v1/checkout/sessions/${id}/capture`, body, keyOf('capture', id, key));
      const first = { line_items: items.slice(0, 1), amount_shipping: 599, amount_tax: 401, amount_discount: 400 };
      expect(await capture(first, '1')).toMatchObject({ status: 'paid', amount_received: 4_600 });
      const second = { line_items: items.slice(1), amount_tax: 200, amount_discount: 200 };
      const beyond = await api.post(`/v1/checkout/sessions/${id}/capture`, {
        checkout_session: { ...second, amount_shipping: 1 },
      });
      expect([beyond.status, beyond.body]).toMatchObject([422, { code: 'capture_amount_exceeds_authorized' }]);
      expect(await capture(second, '2')).toMatchObject({ status: 'complete', amount_received: 6_600 });
      const captures = records(await api.ok('GET', `/v1/captures?checkout_session=${id}`), 'captures');
      expect(
        captures.map((one) => [
          ...[one.amount_captured, one.amount_shipping_captured, one.amount_tax_captured],
          ...[one.amount_discount_captured, one.final_capture],
        ]),
      ).toEqual([
        [2_000, 0, 200, 200, true],
        [4_600, 599, 401, 400, false],
      ]);
    }, 120_000);

    it('gives an order up: an open cart, a hold, and a cart that the shopper has changed [EVT-1, D1.1, D14.39]', async () => {
      const open = text(await begin({ number: `1003-${randomUUID()}` }), 'checkout_session_id');
      expect(await write(`/v1/checkout/sessions/${open}/cancel`, {}, keyOf('cancel', open))).toMatchObject({
        status: 'canceled',
      });
      expect(await told('checkout.session.expired', open)).toMatchObject({ status: 'canceled' });

      const held = await begin({ number: `1004-${randomUUID()}`, captureMethod: 'manual' });
      const id = text(held, 'checkout_session_id');
      await pay(text(held, 'redirect_url'));
      await paid(id);
      await write(`/v1/checkout/sessions/${id}/cancel`, {}, keyOf('cancel', id));
      expect(await read(id)).toMatchObject({ status: 'canceled', amount_received: 0 });
      const released = async () =>
        records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data')
          .filter((charge) => (charge.metadata as Json).session === id)
          .map((charge) => [charge.amount_captured, charge.released]);
      await waitUntil(async () => (await released()).every(([, isReleased]) => isReleased));
      expect(await released()).toEqual([
        [0, true],
        [0, true],
      ]);

      const number = `1005-${randomUUID()}`;
      const before = text(await begin({ number }), 'checkout_session_id');
      const changed = await begin({ number, quantity: 2 });
      expect(changed).toMatchObject({ status: 'open', amount_total: 11_200 });
      expect(await told('checkout.session.expired', before)).toMatchObject({ status: 'expired' });
    }, 120_000);
  });
}
