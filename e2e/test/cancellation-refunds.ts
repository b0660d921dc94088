import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { booksAgree } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, newCard, newCustomer, type Shop } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly api: Api;
  readonly shop: Shop;
}

const healthCents = 1_900;
const otherCents = 700;

/** A cancellation at once that refunds what was paid on two cards: with the session, or at a renewal. */
export function cancellationRefundTests(stack: () => Stack): void {
  const monthly = { recurring: { interval: 'month' } };
  /** A plan on the health card, and one on the other card, or a device that is sold once. */
  const sell = async (amounts = { healthCents, otherCents }, ofOther: Json = monthly) => {
    const { api, shop } = stack();
    const frozen_time = '2030-04-01T00:00:00Z';
    const clock = text(await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time }), 'test_clock_id');
    const customer = await newCustomer(api, { test_clock: clock, first_name: 'Ada', last_name: 'Lovelace' });
    const towels = await make(api, '/v1/products', 'product', { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' });
    const priceOf = async (product: string, unit_amount: number, fields: Json) =>
      text(await make(api, '/v1/prices', 'price', { product, unit_amount, ...fields }), 'price_id');
    const prices = [
      await priceOf(shop.eligibleProductId, amounts.healthCents, monthly),
      await priceOf(text(towels, 'product_id'), amounts.otherCents, ofOther),
    ];
    const session = await make(api, '/v1/checkout/sessions', 'checkout_session', {
      ...{ mode: 'subscription', customer, success_url: 'https://shop.example/done' },
      line_items: prices.map((price) => ({ price, quantity: 1 })),
    });
    const cards = { hsa: await newCard(api, customer, 'hsa'), credit: await newCard(api, customer, 'credit') };
    const sessionId = text(session, 'checkout_session_id');
    const sold = record(
      await api.ok('POST', `/v1/test_helpers/checkout/sessions/${sessionId}/complete`, {
        body: { checkout_session: { payment_method: cards.hsa, second_payment_method: cards.credit } },
      }),
      'checkout_session',
    );
    const id = text(sold, 'subscription');
    const advance = async (time: string) => expect((await advanceClock(api, clock, time)).status).toBe(200);
    const cancel = (fields: Json) => api.delete(`/v1/subscriptions/${id}`, { subscription: fields });
    const invoice = async () =>
      records(await api.ok('GET', `/v1/invoices?customer=${customer}`), 'invoices')[0] as Json;
    return { id, customer, sessionId, advance, cancel, invoice };
  };
  type Sold = Awaited<ReturnType<typeof sell>>;

  /** The charges of the latest invoice at the processor, the largest first, with what was refunded of each. */
  const chargesOf = async ({ sessionId, invoice }: Sold) => {
    const latest = text(await invoice(), 'invoice_id');
    const all = records(await stack().eligo.sandbox('GET', '/sandbox/charges'), 'data');
    const isRenewal = all.some(({ metadata }) => (metadata as Json).invoice === latest);
    const own = all.filter(({ metadata, status }) => {
      const { invoice: of, session } = metadata as Json;
      return status === 'succeeded' && (isRenewal ? of === latest : session === sessionId);
    });
    return own.toSorted((one, other) => Number(other.amount) - Number(one.amount));
  };
  /** What came back at the processor of each card, once all of it is there. */
  const refundedOf = async (sold: Sold, totalCents: number) => {
    let refunded: number[] = [];
    const isThere = async () => {
      refunded = (await chargesOf(sold)).map(({ amount_refunded }) => Number(amount_refunded));
      return refunded.reduce((sum, one) => sum + one, 0) >= totalCents;
    };
    await waitUntil(isThere, { withinMs: 20_000, what: `refunds of ${totalCents} at the processor` });
    return refunded;
  };
  /** The payments of the latest invoice, the health card's first. */
  const intentsOf = async (sold: Sold) => {
    const latest = text(await sold.invoice(), 'invoice_id');
    return stack().eligo.database.admin<{ id: string; left: number }>(
      `select i.id, (i.amount_received_cents - i.amount_refunded_cents)::int as left from checkout.payment_intents i join billing.invoices v on v.id = $1
        where (v.checkout_session_id is not null and i.session_id = v.checkout_session_id)
           or exists (select from billing.invoice_charges c where c.invoice_id = v.id and c.status = 'succeeded' and c.payment_intent_id = i.id)
        order by i.leg = 'health' desc`,
      [latest],
    );
  };
  /** The events of a subscription, and of the refunds that its cancellation made. */
  const toldOf = async ({ id }: Sold, type: string) => {
    const events = records(await stack().api.ok('GET', `/v1/events?event_type=${type}&limit=100`), 'events');
    return events.flatMap(({ object }) => {
      const { subscription, refund } = object as { subscription?: Json; refund?: Json };
      return [subscription, refund].filter((one) => one?.subscription_id === id);
    });
  };

  describe('a cancellation at once', () => {
    it.each([
      ['full', {}, 'with its session', '2030-04-16T00:00:00Z', [1_900, 700]],
      ['full', {}, 'at a renewal', '2030-05-16T12:00:00Z', [1_900, 700]],
      ['prorated', {}, 'with its session', '2030-04-16T00:00:00Z', [950, 350]],
      ['prorated', {}, 'at a renewal', '2030-05-16T12:00:00Z', [950, 350]],
      ['custom', { refund_amount: 1_000 }, 'with its session', '2030-04-16T00:00:00Z', [731, 269]],
      ['custom', { refund_amount: 1_000 }, 'at a renewal', '2030-05-16T12:00:00Z', [731, 269]],
    ])(
      'with a %s refund gives both cards back their part of what was paid %s %s, and no more [SUB-2, SUB-6, EVT-4, D14.4, D14.330]',
      async (refund, amount, paid, at, parts) => {
        const { api, eligo } = stack();
        const sold = await sell();
        await sold.advance(at);
        const totalCents = parts.reduce((sum, one) => sum + one, 0);
        const canceled = await sold.cancel({ refund, ...amount });
        expect(canceled.status).toBe(200);
        expect(record(canceled.body, 'subscription')).toMatchObject({ status: 'canceled', canceled_at: iso(at) });
        expect(await refundedOf(sold, totalCents)).toEqual(parts);
        // The processor has one refund for each card, under a key of its own.
        const charges = await chargesOf(sold);
        const atProcessor = records(await eligo.sandbox('GET', '/sandbox/refunds'), 'data');
        for (const [place, { id, amount: charged }] of charges.entries()) {
          expect(charged).toBe([healthCents, otherCents][place]);
          const own = atProcessor.filter(({ charge }) => charge === id);
          expect(own.map((one) => one.amount)).toEqual([parts[place]]);
        }
        // The same again is refused, and nothing more comes back of either card than is left.
        expect(await sold.cancel({ refund, ...amount })).toMatchObject({
          ...{ status: 409, body: { code: 'subscription_not_cancelable' } },
        });
        const intents = await intentsOf(sold);
        expect(intents.map(({ left }) => left)).toEqual([healthCents - (parts[0] ?? 0), otherCents - (parts[1] ?? 0)]);
        const ofIntent = async ({ id }: { id: string }) =>
          records(await api.ok('GET', `/v1/refunds?payment_intent=${id}`), 'refunds');
        const isSettled = async () =>
          (await Promise.all(intents.map(ofIntent))).flat().every((one) => one.status === 'succeeded');
        await waitUntil(isSettled, { withinMs: 20_000, what: 'refunds that succeeded' });
        for (const { id, left } of intents) {
          // A cent more is taken for the rounding of a client that divides the cart by itself (decisions 14.160).
          const beyond = { refund: { payment_intent_id: id, amount: left + 2 } };
          expect(await api.post('/v1/refunds', beyond)).toMatchObject({
            ...{ status: 422, body: { code: 'refund_amount_exceeds_remaining' } },
          });
        }
        // Its invoice stays paid, and its document says what came back.
        const invoice = await sold.invoice();
        expect(invoice).toMatchObject({ status: 'paid', amount_paid: healthCents + otherCents });
        const path = `/v1/invoices/${text(invoice, 'invoice_id')}/document`;
        const html = String(record(await api.ok('GET', path), 'invoice_document').html);
        for (const fact of ['Refunds', ...parts.map(dollars)]) expect(html).toContain(fact);
        // It is told once that it ended, and once of each refund: what was paid with a session is refunded as one.
        const refunds = paid === 'with its session' ? [totalCents] : parts;
        const made = async () => (await toldOf(sold, 'refund.created')).map((one) => [one?.amount, one?.invoice_id]);
        await waitUntil(async () => (await made()).length >= refunds.length, { what: 'the events of the refunds' });
        const wanted = refunds.map((cents) => [cents, invoice.invoice_id]);
        expect((await made()).toSorted(byAmount)).toEqual(wanted);
        await waitUntil(async () => (await toldOf(sold, 'customer.subscription.deleted')).length > 0, {
          what: 'the event of the end',
        });
        expect(await toldOf(sold, 'customer.subscription.deleted')).toMatchObject([
          { status: 'canceled', canceled_at: iso(at) },
        ]);
        // What was paid with a session has a receipt of what its cards keep; renewals have none.
        if (paid === 'with its session') {
          const receipts = async () =>
            records(await api.ok('GET', `/v1/receipts?checkout_session=${sold.sessionId}`), 'receipts');
          await waitUntil(async () => (await receipts()).some((one) => one.refund !== null), {
            ...{ withinMs: 20_000, what: 'the receipt of the refund' },
          });
          const [ofRefund] = (await receipts()).filter((one) => one.refund !== null);
          expect(ofRefund).toMatchObject({ amount: totalCents });
        } else {
          expect(records(await api.ok('GET', `/v1/receipts?subscription=${sold.id}`), 'receipts')).toHaveLength(1);
        }
      },
    );

    it('with a prorated refund gives the unused time of a plan to the card that paid for the plan, and nothing of a device [SUB-6, D14.3, D14.349]', async () => {
      const { api, eligo } = stack();
      const sold = await sell({ healthCents: 10_000, otherCents: 30_000 }, {});
      await sold.advance('2030-04-16T00:00:00Z');
      expect((await sold.cancel({ refund: 'prorated' })).status).toBe(200);
      expect((await chargesOf(sold)).map(({ amount }) => amount)).toEqual([30_000, 10_000]);
      expect(await refundedOf(sold, 5_000)).toEqual([0, 5_000]);
      const [health, other] = await intentsOf(sold);
      expect([health?.left, other?.left]).toEqual([5_000, 30_000]);
      const refundsOf = async (intent: string | undefined) =>
        records(await api.ok('GET', `/v1/refunds?payment_intent=${intent}`), 'refunds');
      const isSettled = async () => (await refundsOf(health?.id)).every(({ status }) => status === 'succeeded');
      await waitUntil(isSettled, { withinMs: 20_000, what: 'a refund that succeeded' });
      expect(await refundsOf(other?.id)).toEqual([]);
      const items = [expect.objectContaining({ payment_intent: health?.id, amount_refunded: 5_000 })];
      expect(await refundsOf(health?.id)).toMatchObject([{ amount: 5_000, items }]);
      const path = `/v1/checkout/sessions/${sold.sessionId}/substantiation`;
      const { line_items: lines } = record(await api.ok('GET', path), 'substantiation');
      expect(lines).toMatchObject([
        { amount_total: 10_000, amount_refunded: 5_000, refunds: [{ payment_intent: health?.id, amount: 5_000 }] },
        { amount_total: 30_000, amount_refunded: 0, refunds: [] },
      ]);
      await booksAgree(eligo);
    });

    it('that asks for more than is left is refused, and the subscription goes on [SUB-6, D14.2, D14.330]', async () => {
      const { api } = stack();
      const sold = await sell();
      await sold.advance('2030-05-02T00:00:00Z');
      const [, credit] = await intentsOf(sold);
      await api.ok('POST', '/v1/refunds', { body: { refund: { payment_intent_id: credit?.id, amount: 100 } } });
      for (const [fields, type] of [
        [{ refund: 'custom', refund_amount: 2_501 }, 'refund_amount_exceeds_remaining'],
        [{ refund: 'custom', refund_amount: 0 }, 'refund_amount_invalid'],
        [{ refund: 'custom' }, 'refund_amount_invalid'],
        [{ refund: 'full', cancel_at_period_end: true }, 'value_error'],
      ] as const) {
        expect(await sold.cancel(fields)).toMatchObject({ status: 422, body: { detail: [{ type }] } });
      }
      expect(record(await api.ok('GET', `/v1/subscriptions/${sold.id}`), 'subscription').status).toBe('active');
      expect(await refundedOf(sold, 100)).toEqual([0, 100]);
      expect((await sold.cancel({ refund: 'custom', refund_amount: 2_500 })).status).toBe(200);
      expect(await refundedOf(sold, 2_600)).toEqual([1_900, 700]);
    });
  });
}

function iso(time: string): string {
  return new Date(time).toISOString();
}

function byAmount([one]: unknown[], [other]: unknown[]): number {
  return Number(other) - Number(one);
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}
