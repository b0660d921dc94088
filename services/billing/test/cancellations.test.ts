import type { Scope } from '@eligo/postgres';
import { cents } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
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

const { runAt, read, eventsOf, refundsOf, update, unpaid } = callsOn(
  () => on,
  () => scope,
);

describe('a cancellation', () => {
  const now = { atPeriodEnd: false, refund: 'full', refundAmountCents: null } as const;

  it('while a charge is in doubt is refused until its outcome is known [D14.94]', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-05-01T00:00:00.000Z');
    await expect(cancelSubscription(on.context, scope, subscriptionId, now)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await runAt('2026-05-01T00:00:01.000Z');
    expect(await cancelSubscription(on.context, scope, subscriptionId, now)).toMatchObject({ status: 'canceled' });
    expect((await read(subscriptionId)).invoice.status).toBe('paid');
  });

  it('at a time that comes while a charge is in doubt waits for it', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-05-01T00:00:00.000Z');
    await on.test.admin(`update billing.subscriptions set cancel_at = '2026-04-30' where id = $1`, [subscriptionId]);
    await runAt('2026-05-01T00:00:01.000Z');
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'paid']);
  });

  it('of a renewed subscription refunds each card what it paid, under an operation each', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId } = await sell(on, scope, {
      backup,
      items: [{}, { unitAmountCents: 500, eligibility: 'not_eligible' }],
    });
    await runAt('2026-05-01T00:00:00.000Z');
    await cancelSubscription(on.context, scope, subscriptionId, {
      ...now,
      refund: 'custom',
      refundAmountCents: 2_000 as never,
    });
    const events = await eventsOf(subscriptionId);
    expect(events.filter((type) => type === 'command.refund')).toHaveLength(2);
  });

  it('of what one card was refunded before gives back the rest of the other [D14.2]', async () => {
    const backup = on.peers.card(false);
    const items = [{ unitAmountCents: 4_000 }, { unitAmountCents: 6_000, eligibility: 'not_eligible' }];
    const { subscriptionId: id } = await sell(on, scope, { backup, items });
    await runAt('2026-05-01T00:00:00.000Z');
    const { invoice } = await read(id);
    const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
    const [health, other] = charges.map(({ paymentIntentId }) => paymentIntentId ?? '');
    on.peers.refunded.set(health ?? '', charges[0]?.amountCents ?? 0);
    const refund = { ...now, refund: 'custom', refundAmountCents: cents(5_000) } as const;
    await cancelSubscription(on.context, scope, id, refund);
    expect(await refundsOf(id)).toMatchObject([{ amountCents: 5_000, subject: { value: other } }]);
  });

  it('of one that is past due writes off what it owes, and charges nothing more [D14.94]', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('2026-05-01T00:00:00.000Z');
    await cancelSubscription(on.context, scope, subscriptionId, { ...now, refund: 'none' });
    on.peers.behave(card, 'pays');
    await runAt('2026-05-20T00:00:00.000Z');
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    expect(on.peers.takenOf(invoice.id)).toBe(0);
  });
});

describe('a cancellation at the end of a period that is over', () => {
  const paused = async () => {
    const { subscriptionId } = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    await pause(on.context, callOf(scope), subscriptionId);
    return { subscriptionId };
  };
  const pastDue = async () => {
    const sold = await sell(on, scope, {
      card: on.peers.card(true, 'insufficient_funds'),
      items: [{ interval: 'day' }],
    });
    await runAt('2026-04-02T00:00:00.000Z');
    return sold;
  };
  const late = async () => sell(on, scope);
  const made = { paused, unpaid, 'past due': pastDue, 'not renewed yet': late } as const;
  const asking = {
    PATCH: (id: string) => update(id, { cancelAtPeriodEnd: true }),
    DELETE: (id: string) =>
      cancelSubscription(on.context, scope, id, { atPeriodEnd: true, refund: 'none', refundAmountCents: null }),
  } as const;
  const cases = Object.keys(asking).flatMap((call) => Object.keys(made).map((status) => [call, status] as const));

  it.each(cases)('by %s of one that is %s ends it now, and the answer says so [D14.262]', async (call, status) => {
    const { subscriptionId: id } = await made[status as keyof typeof made]();
    const at = new Date(status === 'past due' ? '2026-04-03T12:00:00.000Z' : '2026-06-15T12:00:00.000Z');
    on.at(at);
    const asked = on.peers.asked;
    const before = await read(id);
    expect(before.subscription.currentPeriodEnd < at).toBe(true);
    const answer = await asking[call as keyof typeof asking](id);
    expect(answer).toMatchObject({ status: 'canceled', canceledAt: at, cancelAtPeriodEnd: true });
    const { subscription, invoice } = await read(id);
    expect(subscription).toMatchObject({ status: 'canceled', canceledAt: at, paymentAt: null });
    expect(invoice.status).toBe(before.invoice.status === 'open' ? 'uncollectible' : 'paid');
    expect((await eventsOf(id)).at(-1)).toBe('customer.subscription.deleted');
    await runAt('2026-08-01T00:00:00.000Z');
    expect(on.peers.asked).toBe(asked);
  });

  it.each(Object.entries(asking))('by %s waits for a charge in doubt [D14.262]', async (_call, ask) => {
    const { subscriptionId: id, card } = await sell(on, scope, { items: [{ interval: 'day' }] });
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-04-02T00:00:00.000Z');
    on.at('2026-04-04T00:00:00.000Z');
    await expect(ask(id)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect((await read(id)).subscription).toMatchObject({ status: 'active', cancelAtPeriodEnd: false });
  });

  it('keeps the date of the period where it was asked for within the period, however late its end is noticed [D14.262]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    await asking.DELETE(id);
    await runAt('2026-05-09T00:00:00.000Z');
    const end = new Date('2026-05-01T00:00:00.000Z');
    expect((await read(id)).subscription).toMatchObject({ status: 'canceled', canceledAt: end });
  });
});

describe('a time at which a subscription is to end', () => {
  const cancelAt = new Date('2026-05-03T00:00:00.000Z');

  it('within the next period leaves its invoice whole, and nothing is refunded when it comes [D14.263]', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    await update(id, { cancelAt });
    await runAt('2026-05-01T00:00:00.000Z');
    expect(await read(id)).toMatchObject({
      ...{ subscription: { currentPeriodEnd: new Date('2026-06-01T00:00:00.000Z') } },
      invoice: { status: 'paid', totalCents: 3_000, periodEnd: new Date('2026-06-01T00:00:00.000Z') },
    });
    await runAt('2026-05-20T00:00:00.000Z');
    expect((await read(id)).subscription).toMatchObject({ status: 'canceled', canceledAt: cancelAt });
    expect(await eventsOf(id)).not.toContain('command.refund');
  });

  it('ends one that is paused then, and one that was resumed before [D14.117]', async () => {
    const [left, resumed] = [await sell(on, scope), await sell(on, scope)].map((sold) => sold.subscriptionId);
    for (const id of [left ?? '', resumed ?? '']) {
      await update(id, { cancelAt });
      await pause(on.context, callOf(scope), id);
    }
    await runAt('2026-05-02T00:00:00.000Z');
    expect((await read(left ?? '')).subscription).toMatchObject({ status: 'paused', cancelAt });
    expect(await resume(on.context, callOf(scope), resumed ?? '', false)).toMatchObject({ status: 'active', cancelAt });
    expect((await read(resumed ?? '')).invoice).toMatchObject({ status: 'paid', totalCents: 3_000 });
    await runAt('2026-05-20T00:00:00.000Z');
    for (const id of [left ?? '', resumed ?? '']) {
      expect((await read(id)).subscription).toMatchObject({ status: 'canceled', canceledAt: cancelAt });
    }
  });
});

describe('a prorated refund on cancellation', () => {
  const half = '2026-04-16T00:00:00.000Z';
  const tenAMonth = () => sell(on, scope, { items: [{ unitAmountCents: 1_000, quantity: 1 }], receivedCents: 1_000 });
  const change = (id: string, unitAmountCents: number, prorationBehavior: string) =>
    update(id, { items: [{ priceId: on.peers.price({ unitAmountCents }), quantity: 1 }], prorationBehavior });
  const cancel = async (id: string, at: string) => {
    on.at(at);
    await cancelSubscription(on.context, scope, id, {
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

  it('is of all that was paid for the period, newest invoice first, under an operation for each payment [D14.186, D14.330]', async () => {
    const { id, sessionId, intent } = await changed();
    expect(await cancel(id, half)).toEqual([500, 500]);
    expect(await refundsOf(id)).toMatchObject([
      { operationId: `cancel:${id}`, subject: { case: 'paymentIntentId', value: intent } },
      { operationId: `cancel:${id}:2`, subject: { case: 'sessionId', value: sessionId } },
    ]);
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
    // 334 of 365 days of 1,250.00; the added item was paid for as much as a day longer.
    expect(refunds).toEqual([invoice.amountPaidCents, 114_383 - invoice.amountPaidCents]);
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
    ['custom', 300, [300]],
  ])('%s of %s is of all that was paid for the period, too [SUB-6, D14.330]', async (refund, amount, expected) => {
    const { id } = await changed();
    const refundAmountCents = amount === null ? null : cents(amount);
    await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents });
    expect((await refundsOf(id)).map(({ amountCents }) => amountCents)).toEqual(expected);
  });

  it.each(['full', 'prorated'] as const)(
    '%s is nothing while the latest invoice is not paid [D14.330]',
    async (refund) => {
      const { subscriptionId: id, card } = await tenAMonth();
      on.peers.behave(card, 'insufficient_funds');
      on.at(half);
      await change(id, 2_000, 'always_invoice');
      expect((await read(id)).subscription.status).toBe('past_due');
      await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund, refundAmountCents: null });
      expect(await refundsOf(id)).toEqual([]);
    },
  );

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

  it('is not of a subscription that changed while checkout was asked [D14.330]', async () => {
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
});
