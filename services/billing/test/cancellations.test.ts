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

  it('of a renewed subscription refunds each card in proportion to what it paid, under an operation each [D14.3]', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId } = await sell(on, scope, {
      backup,
      items: [{}, { unitAmountCents: 500, eligibility: 'not_eligible' }],
    });
    await runAt('2026-05-01T00:00:00.000Z');
    const { invoice } = await read(subscriptionId);
    const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
    expect(charges.map(({ amountCents }) => amountCents)).toEqual([3_000, 1_000]);
    const refund = { ...now, refund: 'custom', refundAmountCents: cents(2_000) } as const;
    await cancelSubscription(on.context, scope, subscriptionId, refund);
    const [health, other] = charges.map(({ paymentIntentId: value }) => ({ case: 'paymentIntentId', value }));
    expect(await refundsOf(subscriptionId)).toMatchObject([
      { operationId: `cancel:${subscriptionId}`, subject: health, amountCents: 1_500 },
      { operationId: `cancel:${subscriptionId}:2`, subject: other, amountCents: 500 },
    ]);
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
