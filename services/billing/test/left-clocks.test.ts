import { type Scope, withTx } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { timeOfChange } from '../src/actions/change-subscription.ts';
import { pause } from '../src/actions/pause-and-resume.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Context } from '../src/context.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription, lockSubscription } from '../src/store/subscriptions.ts';
import { findTestClock, moveTestClock } from '../src/store/test-clocks.ts';
import { callOf, type Fixture, openFixture, paidPeriods, sell, someScope, start } from './fixture.ts';
import { callsOn } from './subscription-calls.ts';

let on: Fixture;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  on.at(start);
  await on.test.admin(`update billing.test_clocks set status = 'ready'`);
});

const later = new Date('2026-05-02T00:00:00.000Z');
// A process that has died left each of them so.
const leftBehind = async (scope: Scope) => {
  const { id } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
  await withTx(on.database, scope, (tx) => moveTestClock(tx, scope, id, later, 'advancing'));
  return id;
};
/** One that cannot go on: what is due by it is held for an operator. */
const stuck = async (scope: Scope) => {
  const id = await leftBehind(scope);
  const { subscriptionId } = await sell(on, scope, { testClockId: id });
  await on.test.admin(`update billing.subscriptions set held_until = '9999-01-01' where id = $1`, [subscriptionId]);
};
const twenty = async (make: () => Promise<unknown>) => {
  for (let count = 0; count < 20; count++) await make();
};
const statusOf = async (scope: Scope, id: string) => (await findTestClock(on.database, scope, id))?.status;
const { signal } = new AbortController();

describe('a test clock whose advance was cut short is finished', () => {
  it('behind any number of clocks that were deleted while they advanced [D14.93]', async () => {
    const [scope, other] = [someScope(), someScope()];
    await twenty(async () => removeTestClock(on.context, callOf(scope), await leftBehind(scope)));
    const clocks = [await leftBehind(scope), await leftBehind(other)] as const;
    expect(await finishClocks(on.context, signal)).toBeUndefined();
    expect([await statusOf(scope, clocks[0]), await statusOf(other, clocks[1])]).toEqual(['ready', 'ready']);
  });

  it('behind clocks of another account that take long, and soon behind those of its own [D14.93]', async () => {
    const [scope, other] = [someScope(), someScope()];
    await twenty(() => stuck(scope));
    const clocks = [await leftBehind(scope), await leftBehind(other)] as const;
    const place = { clocks: new Map<string, string>() };
    expect(await finishClocks(on.context, signal, place)).toEqual({ dueInMs: 1_000 });
    expect(await statusOf(other, clocks[1])).toBe('ready');
    await finishClocks(on.context, signal, place);
    expect(await statusOf(scope, clocks[0])).toBe('ready');
  });
});

describe('the subscriptions of a test clock that is deleted years behind', () => {
  const deleted = new Date('2029-04-10T00:00:00.000Z');
  const periods = Array.from({ length: 36 }, (_, month) =>
    new Date(Date.UTC(2026, 4 + month, 1)).toISOString().slice(0, 10),
  );

  it('make up for each period once, in the order of time, and then go on by the wall clock [D14.93]', async () => {
    const scope = someScope();
    const { id } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const sold = await Promise.all([1, 2].map(() => sell(on, scope, { testClockId: id })));
    on.at(deleted);
    await removeTestClock(on.context, callOf(scope), id);
    // Two processes find them.
    const runAll = async (context: Context) => {
      while (await runDueSubscriptions(context));
    };
    await Promise.all([runAll(on.context), runAll(on.another())]);
    await runAll(on.context);
    for (const { subscriptionId } of sold) {
      expect((await paidPeriods(on, subscriptionId)).slice(1)).toEqual(periods.map((day) => `${day} 3000`));
      expect(await findSubscription(on.database, scope, subscriptionId)).toMatchObject({
        ...{ status: 'active', currentPeriodEnd: new Date('2029-05-01T00:00:00.000Z') },
      });
    }
    expect(on.peers.taken).toHaveLength(2 * periods.length);
  });

  it('owe for the first of them alone if the card is declined, and end with its last try [D14.91, D14.93]', async () => {
    const scope = someScope();
    const { id } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const card = on.peers.card(true, 'insufficient_funds');
    const { subscriptionId } = await sell(on, scope, { testClockId: id, card });
    on.at(deleted);
    await removeTestClock(on.context, callOf(scope), id);
    const seen: [string | undefined, number][] = [];
    for (const days of [0, 1, 3, 5, 7]) {
      on.at(new Date(deleted.getTime() + days * 86_400_000));
      while (await runDueSubscriptions(on.context));
      const invoices = await on.test.admin('select from billing.invoices where subscription_id = $1', [subscriptionId]);
      seen.push([(await findSubscription(on.database, scope, subscriptionId))?.status, invoices.length]);
    }
    expect(seen).toEqual([...Array.from({ length: 4 }, () => ['past_due', 2]), ['canceled', 2]]);
  });
});

describe('a subscription whose test clock advances', () => {
  const refusals: [string, (scope: Scope, id: string) => Promise<unknown>][] = [
    ['a cancellation', (scope, id) => cancelSubscription(on.context, scope, id, now)],
    ['an end with its period', (scope, id) => cancelSubscription(on.context, scope, id, { ...now, atPeriodEnd: true })],
    [
      'a change',
      (scope, id) =>
        callsOn(
          () => on,
          () => scope,
        ).update(id, { metadata: { changed: 'yes' } }),
    ],
  ];
  const now = { atPeriodEnd: false, refund: 'none', refundAmountCents: null } as const;

  it.each(refusals)(
    'takes %s only once it has been billed for what the clock has passed [D14.380]',
    async (_what, ask) => {
      const scope = someScope();
      const testClockId = await leftBehind(scope);
      const { subscriptionId: id } = await sell(on, scope, { testClockId });
      await expect(ask(scope, id)).rejects.toMatchObject({ status: 503, code: 'lock_timeout', retryAfterSeconds: 1 });
      await finishClocks(on.context, signal);
      expect(await paidPeriods(on, id)).toEqual(['2026-04-01 3000', '2026-05-01 3000']);
      await expect(ask(scope, id)).resolves.toBeDefined();
    },
  );

  // As it is at the first failure of a renewal, with the next tries ahead.
  const owing = async () => {
    const scope = someScope();
    const { id: testClockId } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const card = on.peers.card(true, 'insufficient_funds');
    const { subscriptionId: id, customerId } = await sell(on, scope, { testClockId, card });
    const failedAt = new Date('2026-05-01T00:00:00.000Z');
    await advanceTestClock(on.context, callOf(scope), testClockId, failedAt);
    const invoiceId = (await findSubscription(on.database, scope, id))?.latestInvoiceId ?? '';
    const advance = (to: Date) =>
      withTx(on.database, scope, (tx) => moveTestClock(tx, scope, testClockId, to, 'advancing'));
    const invoice = async () => findInvoice(on.database, scope, invoiceId);
    return { scope, id, invoiceId, customerId, testClockId, advance, invoice };
  };
  let adopted = 0;
  const payments: [string, (of: Awaited<ReturnType<typeof owing>>) => Promise<unknown>, string][] = [
    [
      'a payment with a card',
      ({ scope, invoiceId, customerId }) =>
        payInvoice(on.context, callOf(scope), invoiceId, on.peers.cardOf(customerId, true)),
      'paid',
    ],
    [
      'a payment on the page',
      ({ scope, invoiceId }) => {
        const card = { processorPaymentMethodId: on.peers.typed('pays'), slot: 'health' } as const;
        const { checkout } = on.context;
        const adoptInvoiceCard: typeof checkout.adoptInvoiceCard = (...asked) => {
          adopted += 1;
          return checkout.adoptInvoiceCard(...asked);
        };
        const context = { ...on.context, checkout: { ...checkout, adoptInvoiceCard } };
        return payInvoiceOnPage(context, callOf(scope), invoiceId, [card]);
      },
      'paid',
    ],
    ['a void', ({ scope, invoiceId }) => voidInvoice(on.context, callOf(scope), invoiceId), 'void'],
  ];

  it.each(payments)(
    'takes %s of its invoice only once it has been tried when it was to be [D14.380]',
    async (_what, ask, status) => {
      const of = await owing();
      await of.advance(new Date('2026-05-02T12:00:00.000Z'));
      adopted = 0;
      await expect(ask(of)).rejects.toMatchObject({ status: 503, code: 'lock_timeout', retryAfterSeconds: 1 });
      expect(await of.invoice()).toMatchObject({ status: 'open', attempts: 1, payWithPaymentMethodId: null });
      // No card is kept either.
      expect(adopted).toBe(0);
      await finishClocks(on.context, signal);
      expect(await of.invoice()).toMatchObject({ status: 'open', attempts: 2 });
      await ask(of);
      expect(await of.invoice()).toMatchObject({ status });
    },
  );

  it.each(payments)(
    'takes %s of its invoice where nothing of it is due by then [D14.380]',
    async (_what, ask, status) => {
      const of = await owing();
      await of.advance(new Date('2026-05-01T12:00:00.000Z'));
      await ask(of);
      expect(await of.invoice()).toMatchObject({ status });
    },
  );

  it('is not refused a pause for the trial that the clock has passed [D14.380]', async () => {
    const scope = someScope();
    const testClockId = await leftBehind(scope);
    const { subscriptionId: id } = await sell(on, scope, { testClockId, trialDays: 14 });
    const asked = () => pause(on.context, callOf(scope), id);
    await expect(asked()).rejects.toMatchObject({ status: 503, code: 'lock_timeout' });
    await finishClocks(on.context, signal);
    await expect(asked()).resolves.toMatchObject({ status: 'paused' });
  });

  it.each(refusals)('takes %s where nothing of it is due by then [D14.380]', async (_what, ask) => {
    const scope = someScope();
    const testClockId = await leftBehind(scope);
    const { subscriptionId: id } = await sell(on, scope, { testClockId, items: [{ interval: 'year' }] });
    await expect(ask(scope, id)).resolves.toBeDefined();
  });

  it('is changed at the time of the clock whose status was looked at, though an advance commits meanwhile [D14.380]', async () => {
    const scope = someScope();
    const { id } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const { subscriptionId } = await sell(on, scope, { testClockId: id });
    const change = await withTx(on.database, scope, async (tx) => {
      const before = await lockSubscription(tx, scope, subscriptionId);
      if (before === undefined) throw new Error('no subscription');
      const row: typeof tx.row = async (...asked) => {
        const found = await tx.row(...asked);
        await on.test.admin(`update billing.test_clocks set frozen_time = $2, status = 'advancing' where id = $1`, [
          id,
          later,
        ]);
        return found;
      };
      return timeOfChange(on.context, Object.assign(Object.create(tx), { row }), scope, before);
    });
    expect(change).toEqual({ at: start, isPassing: false });
    expect((await findTestClock(on.database, scope, id))?.frozenTime).toEqual(later);
  });
});
