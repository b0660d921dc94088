import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeNotices } from '../src/actions/change-notices.ts';
import { changeRenewalSpread } from '../src/actions/change-renewal-spread.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import type { Context } from '../src/context.ts';
import { chargeAt } from '../src/domain/renewal-spread.ts';
import { runDue, runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, sellOne } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;
let call: Call;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
  call = callOf(scope);
});

const afterPeriod = new Date('2026-05-02T00:00:00.000Z');
const clockAt = async (frozenTime: Date) => (await createTestClock(on.context, call, { frozenTime, name: null })).id;
const statusOf = async (id: string) => (await findSubscription(on.database, scope, id))?.status;
/** A process that cannot read the cards of a subscription, so that it stops between an invoice and its charge. */
const contextWithoutCards = (): Context => {
  const getPaymentMethod = () => Promise.reject(new Failure('service_unavailable'));
  return { ...on.context, checkout: { ...on.context.checkout, getPaymentMethod } };
};
const runAll = async () => {
  while (await runDueSubscriptions(on.context));
};

describe('a subscription that is to end', () => {
  it('on a test clock ends by that clock and not by the wall clock', async () => {
    const testClockId = await clockAt(start);
    const { subscriptionId } = await sell(on, scope, { cancelAtPeriodEnd: true, testClockId });
    on.at(afterPeriod);
    await runAll();
    expect(await statusOf(subscriptionId)).toBe('active');
    await advanceTestClock(on.context, call, testClockId, afterPeriod);
    expect(await statusOf(subscriptionId)).toBe('canceled');
  });

  it('continues by the wall clock when its test clock is deleted, whatever time that showed', async () => {
    const [past, future] = [await clockAt(start), await clockAt(afterPeriod)];
    const slow = await sell(on, scope, { cancelAtPeriodEnd: true, testClockId: past });
    const fast = await sell(on, scope, { cancelAtPeriodEnd: true, testClockId: future });
    for (const id of [past, future]) await removeTestClock(on.context, call, id);
    await runAll();
    expect(await statusOf(slow.subscriptionId)).toBe('active');
    expect(await statusOf(fast.subscriptionId)).toBe('active');
    on.at(afterPeriod);
    await runAll();
    expect(await statusOf(slow.subscriptionId)).toBe('canceled');
    expect(await statusOf(fast.subscriptionId)).toBe('canceled');
  });

  it('ends with the advance of its clock, though more than one look finds are due with it', async () => {
    const testClockId = await clockAt(start);
    const sold = [];
    for (let i = 0; i < 60; i++) sold.push(await sell(on, scope, { cancelAtPeriodEnd: true, testClockId }));
    await advanceTestClock(on.context, call, testClockId, afterPeriod);
    const statuses = await Promise.all(sold.map(({ subscriptionId }) => statusOf(subscriptionId)));
    expect(new Set(statuses)).toEqual(new Set(['canceled']));
  });

  it('and cannot is no reason to look for more at once', async () => {
    for (let i = 0; i < 50; i++) await sell(on, scope, { cancelAtPeriodEnd: true });
    on.at(afterPeriod);
    await on.test.admin('alter table billing.outbox rename to outbox_away');
    try {
      expect(await runDueSubscriptions(on.context)).toBe(false);
    } finally {
      await on.test.admin('alter table billing.outbox_away rename to outbox');
    }
    on.at(new Date(afterPeriod.getTime() + 15_000));
    await runAll();
    const left = await on.test.admin(`select from billing.subscriptions where account_id = $1 and status = 'active'`, [
      scope.accountId,
    ]);
    expect(left).toEqual([]);
  });
});

it('the job that ends subscriptions says when the next of them ends', async () => {
  await on.test.admin(
    `update billing.subscriptions set status = 'canceled', canceled_at = now() where status <> 'canceled'`,
  );
  await sell(on, scope, { cancelAtPeriodEnd: true });
  await sell(on, scope);
  const run = () => runDue(on.context).run(new AbortController().signal);
  expect(await run()).toEqual({ dueInMs: new Date('2026-05-01T00:00:00.000Z').getTime() - start.getTime() });
  on.at(afterPeriod);
  while ((await run()) === true);
  expect(await run()).toEqual({ dueInMs: new Date('2026-06-01T00:00:00.000Z').getTime() - afterPeriod.getTime() });
});

it('the look for what is due reads nothing of what ends later, however much that is', async () => {
  await on.test.admin(
    `insert into billing.subscriptions (account_id, test_mode, id, customer_id, status, anchor, interval, interval_count,
       current_period_start, current_period_end, cancel_at_period_end, created_at)
     select $1, false, 'fsub_' || n, 'fcus_x', 'active', now(), 'year', 1, now(), '2099-01-01'::timestamptz, true, now()
     from generate_series(1, 5000) n`,
    [scope.accountId],
  );
  await on.test.admin('analyze billing.subscriptions');
  const look = `explain (analyze, buffers, format json) select * from billing.claim_due_subscriptions('2020-01-01', '2020-01-02', 50)`;
  // One that comes first on its connection, or after an automatic vacuum, reads the catalogs of the database, too.
  const read: number[] = [];
  for (let times = 0; times < 5; times += 1) {
    const [row] = await on.test.admin<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(look);
    const plan = row?.['QUERY PLAN'][0]?.Plan;
    expect(plan?.['Actual Rows']).toBe(0);
    read.push((plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0));
  }
  expect(Math.min(...read)).toBeLessThan(20);
});

describe('what is pending of a subscription that ends with its period [D14.335]', () => {
  const may = '2026-05-01T00:00:00.000Z';
  const { runAt, read, eventsOf, invoicesOf, update } = callsOn(
    () => on,
    () => scope,
  );
  /** 30.00 of April, 60.00 of its second half, and an end with May. */
  const ending = async () => {
    const sold = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    await update(sold.subscriptionId, {
      items: [{ priceId: on.peers.price({ unitAmountCents: 12_000 }), quantity: 1 }],
    });
    await update(sold.subscriptionId, { cancelAtPeriodEnd: true });
    return sold;
  };
  const seen = async (id: string) => {
    const { subscription, invoice } = await read(id);
    return [
      subscription.status,
      invoice.status,
      invoice.totalCents,
      invoice.amountPaidCents,
      on.peers.takenOf(invoice.id),
    ];
  };

  it('is charged before it ends', async () => {
    const { subscriptionId: id } = await ending();
    await runAt(may);
    expect(await seen(id)).toEqual(['canceled', 'paid', 4_500, 4_500, 4_500]);
    expect((await eventsOf(id)).at(-1)).toBe('customer.subscription.deleted');
    expect((await read(id)).invoice).toMatchObject({
      ...{ billingReason: 'subscription_update', periodStart: new Date('2026-04-16T00:00:00.000Z') },
      periodEnd: new Date(may),
    });
  });

  it('is given up where the card declines: it ends all the same, its mail names no other try, and the partner can charge it', async () => {
    await changeNotices(on.database, scope, { merchantName: 'Care' });
    const { subscriptionId: id, card } = await ending();
    on.peers.behave(card, 'insufficient_funds');
    await runAt(may);
    const mailsOf = (table: string) =>
      on.test.admin(`select * from billing.${table} where account_id = $1`, [scope.accountId]);
    expect(await mailsOf('notice_mails')).toEqual([]);
    expect(await mailsOf('subscription_mails')).toMatchObject([{ kind: 'ended', about: new Date(may) }]);
    expect((await eventsOf(id)).slice(-2)).toEqual(['customer.subscription.updated', 'customer.subscription.deleted']);
    expect(await seen(id)).toEqual(['canceled', 'uncollectible', 4_500, 0, 0]);
    expect((await read(id)).subscription.canceledAt).toEqual(new Date(may));
    on.peers.behave(card, 'pays');
    await runAt('2026-05-20T00:00:00.000Z');
    expect((await seen(id))[4]).toBe(0);
    expect(await payInvoice(on.context, call, (await read(id)).invoice.id, undefined)).toMatchObject({
      status: 'paid',
    });
  });

  it('is charged once after a crash between its invoice and its charge, and after an answer that was lost', async () => {
    const { subscriptionId: id, card } = await ending();
    on.at(may);
    await runDueSubscriptions(contextWithoutCards());
    expect(await seen(id)).toEqual(['active', 'open', 4_500, 0, 0]);
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-05-01T00:00:15.000Z');
    expect(await seen(id)).toEqual(['active', 'open', 4_500, 0, 4_500]);
    await runAt('2026-05-01T00:01:15.000Z');
    expect(await seen(id)).toEqual(['canceled', 'paid', 4_500, 4_500, 4_500]);
    expect(await invoicesOf(id)).toHaveLength(2);
  });

  it('is charged where the clock goes back before its charge', async () => {
    const { subscriptionId: id } = await ending();
    on.at('2026-05-01T01:00:00.000Z');
    await runDueSubscriptions(contextWithoutCards());
    expect(await seen(id)).toEqual(['active', 'open', 4_500, 0, 0]);
    // The first look frees it from the hold of the fast clock, and has it wait for its turn.
    for (const second of ['00', '01']) await runAt(`2026-05-01T00:20:${second}.000Z`);
    expect(await seen(id)).toEqual(['canceled', 'paid', 4_500, 4_500, 4_500]);
  });

  it('is written off by an end within the period, which charges nothing for the time after it', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    const items = [{ priceId: on.peers.price({ unitAmountCents: 300_000 }), quantity: 1 }];
    await update(id, { items, prorationBehavior: 'create_prorations' });
    await update(id, { cancelAt: new Date('2026-04-17T00:00:00.000Z') });
    await runAt('2026-04-17T00:00:00.000Z');
    expect((await read(id)).subscription.status).toBe('canceled');
    expect(await invoicesOf(id)).toHaveLength(1);
  });

  it.each([
    ['an eligible item that became an ordinary one of the same price', 3_000],
    ['one of twice the price, of which more than the difference would be charged', 6_000],
  ])('is written off where a credit cannot reduce the charge: %s', async (_what, unitAmountCents) => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    const priceId = on.peers.price({ unitAmountCents });
    on.peers.classify(priceId, 'not_eligible');
    await update(id, { items: [{ priceId, quantity: 1 }] });
    await update(id, { cancelAtPeriodEnd: true });
    await runAt(may);
    expect((await read(id)).subscription.status).toBe('canceled');
    expect(await invoicesOf(id)).toHaveLength(1);
  });

  it.each(['2026-05-01T00:21:00.000Z', '2026-05-01T00:59:00.000Z'])(
    'is not a renewal that waits for its time when it ends, looked at %s',
    async (looked) => {
      await changeRenewalSpread(on.database, scope, 60);
      const { subscriptionId: id } = await sellWaiting();
      await runAt(may);
      await update(id, { cancelAt: new Date('2026-05-01T00:20:00.000Z') });
      await runAt(looked);
      expect(await seen(id)).toEqual(['canceled', 'uncollectible', 3_000, 0, 0]);
    },
  );

  /** One whose renewal is charged between 00:22 and 00:58. */
  const sellWaiting = () =>
    sellOne(
      () => sell(on, scope),
      ({ subscriptionId: id }) => {
        const due = new Date(may);
        const minutes = (chargeAt({ id, testClockId: null }, due, 60, due).getTime() - due.getTime()) / 60_000;
        return minutes > 22 && minutes < 58;
      },
    );

  it('stays a write-off of less than any card can be charged', async () => {
    const { subscriptionId: id } = await sell(on, scope);
    on.at('2026-04-30T23:00:00.000Z');
    await update(id, { items: [{ priceId: on.peers.price({ unitAmountCents: 3_600 }), quantity: 1 }] });
    await update(id, { cancelAtPeriodEnd: true });
    await runAt(may);
    expect((await read(id)).subscription.status).toBe('canceled');
    expect(await invoicesOf(id)).toHaveLength(1);
  });
});

describe('a renewal that is made up after the end that was set [D14.335]', () => {
  const { runAt, read, invoicesOf, update } = callsOn(
    () => on,
    () => scope,
  );
  const late = '2026-06-02T00:00:00.000Z';
  /** Ends on May 20; nothing is done for it before June 2. */
  const overdue = async (parts: Parameters<typeof sell>[2] = {}) => {
    const sold = await sell(on, scope, parts);
    await update(sold.subscriptionId, { cancelAt: new Date('2026-05-20T00:00:00.000Z') });
    return sold;
  };
  const seen = async (id: string) => {
    const { subscription, invoice } = await read(id);
    return [subscription.status, invoice.status, invoice.amountPaidCents, on.peers.takenOf(invoice.id)];
  };
  const crashing = (): Context => ({
    ...on.context,
    failpoint: async (name) => {
      if (name === 'renewal.invoiced') throw new Error('The process died');
    },
  });

  it.each<[string, () => Context, number]>([
    ['the process dies, alone', crashing, 0],
    ['checkout does not answer, alone', contextWithoutCards, 0],
    ['checkout does not answer, beside others', contextWithoutCards, 2],
  ])('charges its period, though between its invoice and its charge %s', async (_how, failing, others) => {
    // What is begun together with a charge is asked for anyway: that of a backup card is begun alone.
    const parts = others > 0 ? { card: null, backup: on.peers.card(false) } : {};
    const { subscriptionId: id } = await overdue(parts);
    for (let other = 0; other < others; other++) await sell(on, scope);
    on.at(late);
    await runDueSubscriptions(failing());
    expect(await seen(id)).toEqual(['active', 'open', 0, 0]);
    await runAt('2026-06-02T00:02:00.000Z');
    expect(await seen(id)).toEqual(['canceled', 'paid', 3_000, 3_000]);
    expect((await read(id)).subscription.canceledAt).toEqual(new Date('2026-05-20T00:00:00.000Z'));
    expect(await invoicesOf(id)).toHaveLength(2);
  });

  it('charges its period, though what is renewed together fails after it', async () => {
    const { subscriptionId: id } = await overdue({ card: null, backup: on.peers.card(false) });
    for (let other = 0; other < 2; other++) await sell(on, scope);
    on.at(late);
    await runDueSubscriptions(crashing());
    expect(await seen(id)).toEqual(['active', 'paid', 3_000, 3_000]);
    await runAt('2026-06-02T00:02:00.000Z');
    expect((await seen(id))[0]).toBe('canceled');
  });

  it('is tried once: a decline ends it', async () => {
    const { subscriptionId: id, card } = await overdue();
    on.peers.behave(card, 'insufficient_funds');
    on.at(late);
    await runDueSubscriptions(crashing());
    await runAt('2026-06-02T00:02:00.000Z');
    expect(await seen(id)).toEqual(['canceled', 'uncollectible', 0, 0]);
  });
});
