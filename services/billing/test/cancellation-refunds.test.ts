import type { Scope } from '@eligo/postgres';
import { cents } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const { runAt, read, refundsOf, update, voids, pastDue } = callsOn(
  () => on,
  () => scope,
);

describe('a refund on cancellation', () => {
  const half = '2026-04-16T00:00:00.000Z';
  const tenAMonth = () => sell(on, scope, { items: [{ unitAmountCents: 1_000, quantity: 1 }], receivedCents: 1_000 });
  const change = (id: string, unitAmountCents: number, prorationBehavior: string) =>
    update(id, { items: [{ priceId: on.peers.price({ unitAmountCents }), quantity: 1 }], prorationBehavior });
  const cancel = async (id: string, at: string, context = on.context) => {
    on.at(at);
    await cancelSubscription(context, scope, id, {
      atPeriodEnd: false,
      refund: 'prorated',
      refundAmountCents: null,
    });
    return (await refundsOf(id)).map(({ amountCents }) => amountCents);
  };

  it('leaves out what a renewal carries of the period before [D14.3, D14.330]', async () => {
    const { subscriptionId: id } = await tenAMonth();
    on.at(half);
    await change(id, 2_000, 'create_prorations');
    await runAt('2026-05-01T00:00:00.000Z');
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', amountPaidCents: 2_500 });
    expect(await cancel(id, '2026-05-01T00:00:00.000Z')).toEqual([2_000]);
  });

  it('leaves out what a session sold once, and what it was refunded before [D14.3, D14.330]', async () => {
    const device = await sell(on, scope, { onceCents: 10_000 });
    expect(await cancel(device.subscriptionId, half)).toEqual([1_500]);
    const refunded = await sell(on, scope);
    on.peers.refunded.set(refunded.sessionId, 2_000);
    expect(await cancel(refunded.subscriptionId, half)).toEqual([500]);
  });

  it.each([
    ['of a higher price is not of what waits for a later invoice', 2_000, [250]],
    ['of a lower price is of that price, and its credit is not paid out', 400, [100]],
  ])('%s [D14.186, D14.330]', async (_what, to, expected) => {
    const { subscriptionId: id } = await tenAMonth();
    on.at(half);
    await change(id, to, 'create_prorations');
    expect(await cancel(id, '2026-04-23T12:00:00.000Z')).toEqual(expected);
  });

  it.each([
    ['before', 500, '2026-04-01T00:00:00.000Z', [500]],
    ['before', 500, half, [250]],
    ['after', 500, half, [250]],
  ])('counts a refund %s a change that waits once [D14.330]', async (when, refunded, at, expected) => {
    const { subscriptionId: id, sessionId } = await tenAMonth();
    if (when === 'before') on.peers.refunded.set(sessionId, refunded);
    await change(id, 2_000, 'create_prorations');
    on.peers.refunded.set(sessionId, refunded);
    expect(await cancel(id, at)).toEqual(expected);
  });

  it.each([
    ['of nothing, where the plan was refunded', 1_500, []],
    ['of half of what was captured of the plan', 0, [750]],
  ])('is %s, of a session that was captured in part [D14.330, D14.332]', async (_what, refunded, expected) => {
    const { subscriptionId: id, sessionId } = await sell(on, scope, { receivedCents: 0, onceCents: 6_500 });
    on.peers.payments.sold(sessionId, 6_500, [3_000], 10_000);
    on.peers.payments.refundedLines.set(sessionId, [refunded, 0]);
    on.peers.refunded.set(sessionId, refunded);
    expect(await cancel(id, half)).toEqual(expected);
  });

  const changed = async () => {
    const sold = await tenAMonth();
    on.at(half);
    await change(sold.subscriptionId, 2_000, 'always_invoice');
    const { invoice } = await read(sold.subscriptionId);
    return { ...sold, id: sold.subscriptionId, invoice, intent: invoice.paymentIntentId ?? '' };
  };

  it('is of all that was paid for the period, under an operation for each payment [D14.186, D14.330]', async () => {
    const { id, sessionId, intent } = await changed();
    expect(await cancel(id, half)).toEqual([500, 500]);
    expect(await refundsOf(id)).toMatchObject([
      { operationId: `cancel:${id}`, subject: { case: 'paymentIntentId', value: intent } },
      { operationId: `cancel:${id}:2`, subject: { case: 'sessionId', value: sessionId } },
    ]);
  });

  it('of several payments sends each statement once', async () => {
    const { id } = await changed();
    const sent: string[] = [];
    const database = on.test.open('billing', { onStatement: (name) => sent.push(name) });
    expect(await cancel(id, half, { ...on.context, database })).toEqual([500, 500]);
    expect(sent).toEqual([...new Set(sent)]);
  });

  it('of a year gives back the year after an item that was added and invoiced a month later [D14.330]', async () => {
    const item = { unitAmountCents: 120_000, quantity: 1, interval: 'year' };
    const { subscriptionId: id, priceIds } = await sell(on, scope, { items: [item], receivedCents: 120_000 });
    on.at('2026-05-01T00:00:00.000Z');
    const more = on.peers.price({ unitAmountCents: 5_000, recurring: { interval: 'year' } });
    const items = [
      { priceId: priceIds[0] ?? '', quantity: null },
      { priceId: more, quantity: 1 },
    ];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ status: 'paid', billingReason: 'subscription_update' });
    const refunds = await cancel(id, '2026-05-02T00:00:00.000Z');
    // 334 of 365 days of 1,250.00; each payment has its own unused time.
    expect(invoice.amountPaidCents).toBe(4_589);
    expect(refunds).toEqual([4_575, 114_383 - 4_575]);
  });

  it('takes no more from a payment than is left of it [D14.330]', async () => {
    const { id, intent } = await changed();
    on.peers.refunded.set(intent, 400);
    // 15.00 were paid and 11.00 are kept: of the unused 10.00, 7.33.
    expect(await cancel(id, half)).toEqual([100, 633]);
  });

  it.each<['full' | 'custom', number | null, number[]]>([
    ['full', null, [500, 1_000]],
    ['custom', 1_500, [500, 1_000]],
    ['custom', 300, [100, 200]],
  ])('%s of %s is of all that was paid for the period, too [SUB-6, D14.330]', async (refund, amount, expected) => {
    const { id } = await changed();
    const refundAmountCents = amount === null ? null : cents(amount);
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents });
    expect((await refundsOf(id)).map(({ amountCents }) => amountCents)).toEqual(expected);
  });

  // 10.00 were paid for the period. Another item of 5.00, or another price, was invoiced halfway through it, and its payment declined.
  const unpaidChange = async (what: 'an item more' | 'another price') => {
    const { subscriptionId: id, priceIds, card } = await tenAMonth();
    on.peers.behave(card, 'insufficient_funds');
    on.at(half);
    const kept = { priceId: priceIds[0] ?? '', quantity: null };
    const added = { priceId: on.peers.price({ unitAmountCents: 500 }), quantity: 1 };
    if (what === 'another price') await change(id, 2_000, 'always_invoice');
    else await update(id, { items: [kept, added], prorationBehavior: 'always_invoice' });
    const { subscription, invoice } = await read(id);
    expect([subscription.status, invoice.status]).toEqual(['past_due', 'open']);
    return { id, invoiceId: invoice.id };
  };

  it.each<['full' | 'custom' | 'prorated', number | null, 'an item more' | 'another price', number[]]>([
    ['full', null, 'an item more', [1_000]],
    ['custom', 700, 'an item more', [700]],
    ['prorated', null, 'an item more', [500]],
    ['full', null, 'another price', [1_000]],
    ['prorated', null, 'another price', []],
  ])(
    '%s of %s is of what was paid, whether the invoice of %s is open or void [SUB-6, D14.330]',
    async (refund, amount, what, expected) => {
      for (const becomes of ['open', 'void']) {
        const { id, invoiceId } = await unpaidChange(what);
        if (becomes === 'void') await voids(invoiceId);
        const { subscription, invoice } = await read(id);
        expect([subscription.status, invoice.status]).toEqual([becomes === 'void' ? 'active' : 'past_due', becomes]);
        const refundAmountCents = amount === null ? null : cents(amount);
        await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents });
        expect((await refundsOf(id)).map(({ amountCents }) => amountCents)).toEqual(expected);
      }
    },
  );

  it.each(['full', 'prorated'] as const)('%s refunds nothing of an unpaid renewal [D14.330]', async (refund) => {
    const { subscriptionId: id } = await pastDue();
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents: null });
    expect(await refundsOf(id)).toEqual([]);
  });

  it('gives each card the unused time of what it paid for the year [D14.3, D14.330]', async () => {
    const year = { unitAmountCents: 120_000, quantity: 1, interval: 'year' };
    const backup = on.peers.card(false);
    const {
      subscriptionId: id,
      priceIds,
      sessionId,
    } = await sell(on, scope, {
      ...{ items: [year], receivedCents: 120_000, backup },
    });
    on.at('2026-05-01T00:00:00.000Z');
    const more = on.peers.price({ unitAmountCents: 60_000, recurring: { interval: 'year' } });
    on.peers.classify(more, 'not_eligible');
    const items = [
      { priceId: priceIds[0] ?? '', quantity: null },
      { priceId: more, quantity: 1 },
    ];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    const { invoice } = await read(id);
    const [charge] = await loadInvoiceCharges(on.database, scope, invoice.id);
    expect(charge).toMatchObject({ leg: 'other', paymentMethodId: backup, amountCents: 55_068 });
    // Half of the 365 days are left: 600.00 of the health card's, and 300.00 of the other one's.
    expect(await cancel(id, '2026-09-30T12:00:00.000Z')).toEqual([29_999, 60_001]);
    expect(await refundsOf(id)).toMatchObject([
      { subject: { value: charge?.paymentIntentId } },
      { subject: { value: sessionId } },
    ]);
  });

  it('splits what comes from an invoice between the two cards that paid it [D14.3, D14.330]', async () => {
    const items = [
      { unitAmountCents: 1_000, quantity: 1 },
      { unitAmountCents: 3_000, quantity: 1, eligibility: 'not_eligible' },
    ];
    const { subscriptionId: id } = await sell(on, scope, { backup: on.peers.card(false), items });
    await runAt('2026-05-01T00:00:00.000Z');
    const charges = await loadInvoiceCharges(on.database, scope, (await read(id)).invoice.id);
    const { subscription } = await read(id);
    on.at('2026-05-16T12:00:00.000Z');
    const kept = subscription.items.map((item) => ({ priceId: item.priceId, quantity: null }));
    const more = { priceId: on.peers.price({ unitAmountCents: 1_000 }), quantity: 1 };
    await update(id, { items: [...kept, more], prorationBehavior: 'always_invoice' });
    expect(await cancel(id, '2026-05-16T12:00:00.000Z')).toEqual([500, 500, 1_500]);
    const [health, other] = charges.map(({ paymentIntentId }) => paymentIntentId);
    expect((await refundsOf(id)).slice(1)).toMatchObject([
      { subject: { value: health } },
      { subject: { value: other } },
    ]);
  });

  // 60.00 a month on the health card and 30.00 on the other one; halfway through April one of them costs another price from the next invoice on.
  it.each<[string, 'eligible' | 'other', number, number[], number[]]>([
    ['charges of the period before, of the health card', 'eligible', 8_000, [9_000, 3_000], [4_000, 1_500]],
    ['charges of the period before, of the other card', 'other', 5_000, [6_000, 6_000], [3_000, 2_500]],
    ['credits of the period before, which pay a part', 'eligible', 4_000, [3_000, 3_000], [2_000, 1_500]],
  ])(
    'gives each card the unused time of its own lines of a renewal with %s [D14.3, D14.354]',
    async (_what, changes, to, charged, expected) => {
      const items = [
        { unitAmountCents: 6_000, quantity: 1 },
        { unitAmountCents: 3_000, quantity: 1, eligibility: 'not_eligible' },
      ];
      const { subscriptionId: id, priceIds } = await sell(on, scope, {
        ...{ backup: on.peers.card(false), items, receivedCents: 9_000 },
      });
      on.at(half);
      const eligibility = changes === 'eligible' ? 'auto_substantiation' : 'not_eligible';
      const other = { priceId: on.peers.price({ unitAmountCents: to, eligibility }), quantity: 1 };
      const [first = '', second = ''] = priceIds;
      const kept = { priceId: changes === 'eligible' ? second : first, quantity: null };
      await update(id, { items: [kept, other], prorationBehavior: 'create_prorations' });
      await runAt('2026-05-01T00:00:00.000Z');
      const charges = await loadInvoiceCharges(on.database, scope, (await read(id)).invoice.id);
      expect(charges.map(({ leg, amountCents }) => [leg, amountCents])).toEqual([
        ['health', charged[0]],
        ['other', charged[1]],
      ]);
      expect(await cancel(id, '2026-05-16T12:00:00.000Z')).toEqual(expected);
    },
  );

  it('counts a change that waited for its own time, and not for that of the invoice that carries it [D14.354]', async () => {
    const yearly = (eligibility: string) =>
      on.peers.price({ unitAmountCents: 36_500, eligibility, recurring: { interval: 'year' } });
    const { subscriptionId: id, priceIds } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 36_500, quantity: 1, interval: 'year' }], receivedCents: 36_500 },
      backup: on.peers.card(false),
    });
    const kept = [{ priceId: priceIds[0] ?? '', quantity: null }];
    const added = [yearly('not_eligible'), yearly('not_eligible')].map((priceId) => ({ priceId, quantity: 1 }));
    // 292 and 73 of 365 days are left.
    on.at('2026-06-13T00:00:00.000Z');
    await update(id, { items: [...kept, ...added.slice(0, 1)], prorationBehavior: 'create_prorations' });
    const last = '2027-01-18T00:00:00.000Z';
    on.at(last);
    await update(id, { items: [...kept, ...added], prorationBehavior: 'always_invoice' });
    expect((await read(id)).invoice).toMatchObject({ amountPaidCents: 29_200 + 7_300 });
    expect(await cancel(id, last)).toEqual([14_600, 7_300]);
  });

  it.each([
    ['prorated', true],
    ['full', false],
    ['custom', false],
  ] as const)('%s is of the lines of a session that recur: %s [D14.3, D14.349]', async (refund, recurringLinesOnly) => {
    const { id, invoice, sessionId } = await changed();
    expect(invoice.status).toBe('paid');
    const refundAmountCents = refund === 'custom' ? cents(900) : null;
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents });
    expect(await refundsOf(id)).toMatchObject([
      { subject: { case: 'paymentIntentId' }, recurringLinesOnly: false },
      { subject: { case: 'sessionId', value: sessionId }, recurringLinesOnly },
    ]);
  });

  it('of a custom amount of more than what is left is refused, and the subscription goes on [SUB-6, D14.330]', async () => {
    const { subscriptionId: id, sessionId } = await sell(on, scope);
    on.peers.refunded.set(sessionId, 2_000);
    const custom = (amount: number) =>
      cancelSubscription(on.context, scope, id, {
        ...{ atPeriodEnd: false, refund: 'custom', refundAmountCents: cents(amount) },
      });
    await expect(custom(1_001)).rejects.toMatchObject({
      violations: [{ loc: ['body', 'subscription', 'refund_amount'], type: 'refund_amount_exceeds_remaining' }],
    });
    expect((await read(id)).subscription.status).toBe('active');
    await custom(1_000);
    expect(await refundsOf(id)).toMatchObject([{ amountCents: 1_000 }]);
  });

  it('refuses a refund if the subscription changed while checkout was asked [D14.330]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    const { checkout } = on.context;
    const getSession: typeof checkout.getSession = async (...asked) => {
      await update(id, { metadata: { changed: 'yes' } });
      return checkout.getSession(...asked);
    };
    const context = { ...on.context, checkout: { ...checkout, getSession } };
    const asked = { atPeriodEnd: false, refund: 'prorated', refundAmountCents: null } as const;
    await expect(cancelSubscription(context, scope, id, asked)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(await refundsOf(id)).toEqual([]);
  });

  it('of a year is whole after a change whose invoice one of two cards has paid, and that is void [D14.236, D14.330]', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId: id, priceIds } = await sell(on, scope, {
      ...{ items: [{ unitAmountCents: 1_000, quantity: 1 }], receivedCents: 1_000, backup },
    });
    on.peers.behave(backup, 'insufficient_funds');
    on.at(half);
    const [eligible, other] = ['auto_substantiation', 'not_eligible'].map((eligibility) => ({
      priceId: on.peers.price({ unitAmountCents: 2_000, eligibility }),
      quantity: 1,
    }));
    if (eligible === undefined || other === undefined) throw new Error('two items');
    const items = [{ priceId: priceIds[0] ?? '', quantity: null }, eligible, other];
    await update(id, { items, prorationBehavior: 'always_invoice' });
    const { invoice } = await read(id);
    expect(invoice).toMatchObject({ status: 'open', amountPaidCents: 1_000 });
    await voids(invoice.id);
    const [charge] = await loadInvoiceCharges(on.database, scope, invoice.id);
    on.peers.refunded.set(charge?.paymentIntentId ?? '', 1_000);
    const before = await refundsOf(id);
    expect(before).toMatchObject([{ operationId: `uncollected:${charge?.id}`, amountCents: 1_000 }]);
    expect((await cancel(id, half)).slice(1)).toEqual([500]);
  });
});
