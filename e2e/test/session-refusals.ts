import type { FailureCode } from '@eligo/failures';
import type { Api, ApiAnswer, Constellation } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { type Json, record, records, text } from '../src/records.ts';
import { confirm, newSession, type Shop } from '../src/shop.ts';

interface Place {
  readonly eligo: Constellation;
  readonly api: Api;
  readonly shop: Shop;
  readonly customer: string;
  readonly card: string;
  coded(status: number, code: FailureCode): object;
  listed(type: string, ...loc: string[]): object;
  create(fields: Json): Promise<ApiAnswer>;
  paidSession(): Promise<{ id: string; intent: Json }>;
}

/** What the endpoints of sessions, captures, letters, links and receipts refuse, each of them. */
export function sessionRefusalTests(place: () => Place): void {
  const idOf = async (session: Json | Promise<Json>) => text(await session, 'checkout_session_id');
  const coded = (status: number, code: FailureCode) => place().coded(status, code);

  describe('what a session, a capture, a letter and a refund refuse, at each of their endpoints', () => {
    const at = (id: string, action: string, fields: Json = {}) =>
      place().api.post(
        `/v1/checkout/sessions/${id}/${action}`,
        action === 'cancel' || action === 'expire' ? undefined : { checkout_session: fields },
      );
    const complete = (id: string, fields: Json) =>
      place().api.post(`/v1/test_helpers/checkout/sessions/${id}/complete`, { checkout_session: fields });
    const opened = (fields: Json = {}) =>
      idOf(newSession(place().api, place().shop, { customer: place().customer, ...fields }));
    const ended = {
      async checkout_session_already_processed() {
        return (await place().paidSession()).id;
      },
      async checkout_session_expired() {
        const id = await opened();
        await place().api.ok('POST', `/v1/checkout/sessions/${id}/expire`);
        return id;
      },
      async checkout_session_canceled() {
        const id = await opened();
        await place().api.ok('POST', `/v1/checkout/sessions/${id}/cancel`);
        return id;
      },
    } as const;

    it.each(Object.keys(ended) as (keyof typeof ended)[])(
      '400 %s: capture, its preview, cancel and the payment of a test; 400 checkout_session_not_open: expire [SESS-6, D14.100]',
      async (code) => {
        const id = await ended[code]();
        for (const action of ['capture', 'capture_allocation', 'cancel']) {
          expect([action, await at(id, action)]).toMatchObject([action, coded(400, code)]);
        }
        expect(await complete(id, { payment_method: 'hsa' })).toMatchObject(coded(400, code));
        expect(await at(id, 'expire')).toMatchObject(coded(400, 'checkout_session_not_open'));
        const helper = await place().api.post(`/v1/test_helpers/checkout/sessions/${id}/expire`);
        expect(helper).toMatchObject(coded(400, 'checkout_session_not_open'));
      },
    );

    it('the preview of a capture: 409 checkout_session_not_capturable, 422 for amounts, as the capture does [D14.102]', async () => {
      expect(await at(await opened(), 'capture_allocation')).toMatchObject(
        coded(409, 'checkout_session_not_capturable'),
      );
      const id = await opened({ capture_method: 'manual' });
      expect((await complete(id, { payment_method: 'credit' })).status).toBe(200);
      for (const [amount, code] of [
        [10_000_000, 'capture_amount_exceeds_authorized'],
        [0, 'capture_amount_invalid'],
      ] as const) {
        expect(await at(id, 'capture_allocation', { amount })).toMatchObject(coded(422, code));
      }
    });

    const intentOf = async (id: string) => {
      const [intent] = records(
        (await place().api.get(`/v1/payment_intents?checkout_session=${id}`)).body,
        'payment_intents',
      );
      return text(intent ?? {}, 'payment_intent_id');
    };
    const captureIntent = (intent: string, fields: Json = {}) =>
      place().api.post(`/v1/payment_intents/${intent}/capture`, { payment_intent: fields });
    const letterLine = () => {
      const product_data = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
      return { price_data: { product_data, unit_amount: 9_000 }, quantity: 1 };
    };

    it('the capture of a payment intent: 400 for a session that is over, 409 while a letter waits, 422 for more than is held [D14.65, D14.100]', async () => {
      const paid = text((await place().paidSession()).intent, 'payment_intent_id');
      expect(await captureIntent(paid)).toMatchObject(coded(400, 'checkout_session_already_processed'));
      const held = await opened({ capture_method: 'manual' });
      expect((await complete(held, { payment_method: 'credit' })).status).toBe(200);
      const intent = await intentOf(held);
      expect(await captureIntent(intent, { amount_to_capture: 10_000_000 })).toMatchObject(
        coded(422, 'capture_amount_exceeds_authorized'),
      );
      expect((await at(held, 'cancel')).status).toBe(200);
      expect(await captureIntent(intent)).toMatchObject(coded(400, 'checkout_session_canceled'));
      const half = await opened();
      expect((await complete(half, { payment_method: 'hsa' })).status).toBe(200);
      const first = await intentOf(half);
      expect(await captureIntent(first)).toMatchObject(coded(409, 'checkout_session_not_capturable'));
      expect((await at(half, 'expire')).status).toBe(200);
      expect(await captureIntent(first)).toMatchObject(coded(400, 'checkout_session_expired'));
      const waiting = await opened({ line_items: [letterLine()] });
      expect((await complete(waiting, { payment_method: 'hsa' })).status).toBe(200);
      expect(await captureIntent(await intentOf(waiting))).toMatchObject(coded(409, 'checkout_session_not_capturable'));
    });

    it('422 invalid_combination and one_of_required: a capture by amount and by lines, and lines that name nothing', async () => {
      const { listed } = place();
      const id = await opened({ capture_method: 'manual' });
      const line = { price: place().shop.eligiblePriceId, amount_to_capture: 100 };
      for (const action of ['capture', 'capture_allocation']) {
        expect(await at(id, action, { amount: 100, line_items: [line] })).toMatchObject(
          listed('invalid_combination', 'checkout_session', 'line_items'),
        );
        expect(await at(id, action, { line_items: [line, { amount_to_capture: 100 }] })).toMatchObject(
          listed('one_of_required', 'checkout_session', 'line_items', '1', 'price'),
        );
      }
      expect(await place().create({ line_items: [{ quantity: 1 }] })).toMatchObject(
        listed('one_of_required', 'checkout_session', 'line_items', '0'),
      );
    });

    it('422 of a payment link: one_of_required, product_not_found, price_required and shipping_rate_not_found', async () => {
      const { listed } = place();
      const product = text(
        record((await place().api.post('/v1/products', { product: { name: 'Unpriced' } })).body, 'product'),
        'product_id',
      );
      const price = place().shop.eligiblePriceId;
      const link = (fields: Json) =>
        place().api.post('/v1/payment_links', { payment_link: { line_items: [{ price, quantity: 1 }], ...fields } });
      for (const [line, type, field] of [
        [{ quantity: 1 }, 'one_of_required', 'price'],
        [{ product: newId('product'), quantity: 1 }, 'product_not_found', 'product'],
        [{ product, quantity: 1 }, 'price_required', 'product'],
      ] as const) {
        expect(await link({ line_items: [line] })).toMatchObject(
          listed(type, 'payment_link', 'line_items', '0', field),
        );
      }
      expect(await link({ shipping_options: { shipping_rate_id: newId('shipping_rate') } })).toMatchObject(
        listed('shipping_rate_not_found', 'payment_link', 'shipping_options', 'shipping_rate_id'),
      );
    });

    it('the preview of a refund: 422 for a session that is not captured and for amounts, 403 for cards, as the refund does [SREF-2]', async () => {
      expect(await at(await opened(), 'refund_allocation', { amount: 100 })).toMatchObject(
        coded(422, 'checkout_session_not_captured'),
      );
      const { id } = await place().paidSession();
      for (const [amount, code] of [
        [10_000_000, 'refund_amount_exceeds_remaining'],
        [0, 'refund_amount_invalid'],
      ] as const) {
        expect(await at(id, 'refund_allocation', { amount })).toMatchObject(coded(422, code));
      }
      const payment_methods = [{ payment_method_id: place().card, amount: 100 }];
      expect(await at(id, 'refund_allocation', { amount: 100, payment_methods })).toMatchObject(
        coded(403, 'payment_method_allocation_not_enabled'),
      );
    });

    it('422 refund_limit_reached: a refund of a part after 950, its preview and that of a payment intent; the rest is refunded in one [D14.353]', async () => {
      const { id, intent } = await place().paidSession();
      const earlier = Array.from({ length: 950 }, () => newId('refund'));
      await place().eligo.database.admin('update checkout.sessions set refund_ids = $2 where id = $1', [id, earlier]);
      const refused = coded(422, 'refund_limit_reached');
      for (const action of ['refund', 'refund_allocation'])
        expect(await at(id, action, { amount: 1 })).toMatchObject(refused);
      const payment_intent_id = text(intent, 'payment_intent_id');
      expect(await place().api.post('/v1/refunds', { refund: { payment_intent_id, amount: 1 } })).toMatchObject(
        refused,
      );
      expect((await at(id, 'refund')).status).toBe(200);
      const { refunds } = record((await place().api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session');
      expect(refunds).toHaveLength(951);
    });

    it('the payment of a test: 400 checkout_amount_too_low', async () => {
      const line_items = [{ price_data: { product_data: { name: 'A sticker' }, unit_amount: 10 }, quantity: 1 }];
      const small = await idOf(record((await place().create({ line_items })).body, 'checkout_session'));
      expect(await complete(small, { payment_method: 'credit' })).toMatchObject(coded(400, 'checkout_amount_too_low'));
    });

    it('409 checkout_session_payment_tries_exceeded: the payment of a test after twenty declines, and not the confirm [D14.321]', async () => {
      const id = await opened();
      for (let tries = 1; tries <= 20; tries += 1) await complete(id, { payment_method: 'declined' });
      const refused = coded(409, 'checkout_session_payment_tries_exceeded');
      expect(await complete(id, { payment_method: 'hsa' })).toMatchObject(refused);
      expect((await confirm(place().api, id, place().card)).status).toBe(200);
    });

    it('409 letter_not_in_review: both decisions about a letter that was decided [D14.76]', async () => {
      const id = await opened({ line_items: [letterLine()] });
      expect((await complete(id, { payment_method: 'hsa' })).status).toBe(200);
      const [letter] = records((await place().api.get(`/v1/letters?checkout_session=${id}`)).body, 'letters');
      const decide = (verb: string) =>
        place().api.post(`/v1/test_helpers/letters/${text(letter ?? {}, 'letter_id')}/${verb}`);
      expect((await decide('approve')).status).toBe(200);
      for (const verb of ['approve', 'deny'])
        expect(await decide(verb)).toMatchObject(coded(409, 'letter_not_in_review'));
    });

    it('404 for each record that is not there: a capture, a letter, a payment link, a receipt and its document, and all that is asked of a session [ERR-1]', async () => {
      for (const [path, code] of [
        [`captures/${newId('capture')}`, 'capture_not_found'],
        [`letters/${newId('letter')}`, 'letter_not_found'],
        [`payment_links/${newId('payment_link')}`, 'payment_link_not_found'],
        [`receipts/${newId('receipt')}`, 'receipt_not_found'],
        [`receipts/${newId('receipt')}/document`, 'receipt_not_found'],
      ] as const) {
        expect([path, await place().api.get(`/v1/${path}`)]).toMatchObject([path, coded(404, code)]);
      }
      const missing = newId('checkout_session');
      for (const action of ['capture', 'capture_allocation', 'refund', 'refund_allocation', 'cancel', 'expire']) {
        const answer = await at(missing, action, action.startsWith('refund') ? { amount: 100 } : {});
        expect([action, answer]).toMatchObject([action, coded(404, 'checkout_session_not_found')]);
      }
      for (const part of ['', '/line_items', '/substantiation', '/timeline']) {
        const answer = await place().api.get(`/v1/checkout/sessions/${missing}${part}`);
        expect([part, answer]).toMatchObject([part, coded(404, 'checkout_session_not_found')]);
      }
      const link = { payment_link: { active: false } };
      expect(await place().api.patch(`/v1/payment_links/${newId('payment_link')}`, link)).toMatchObject(
        coded(404, 'payment_link_not_found'),
      );
      for (const verb of ['approve', 'deny']) {
        const answer = await place().api.post(`/v1/test_helpers/letters/${newId('letter')}/${verb}`);
        expect(answer).toMatchObject(coded(404, 'letter_not_found'));
      }
    });
  });
}
