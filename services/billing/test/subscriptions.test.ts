import { create } from '@bufbuild/protobuf';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { StartSubscriptionSchema } from '@eligo/proto/events/v1/events';
import { createLogger } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { startSubscription } from '../src/actions/start-subscription.ts';
import { createArrivals } from '../src/arrivals.ts';
import { subscriptionStates } from '../src/domain/subscription-states.ts';
import { runDueCancellations } from '../src/jobs/cancel-due.ts';
import { billingService } from '../src/service.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription, listSubscriptions } from '../src/store/subscriptions.ts';
import type { Work } from '../src/work.ts';

const start = new Date('2026-04-01T00:00:00.000Z');
let test: TestDatabase;
let database: Database;
let scope: Scope;
let now: Date;
let work: Work;

beforeAll(async () => {
  test = await testDatabase(billingService);
  database = test.open();
});
afterAll(() => test.drop());
beforeEach(() => {
  now = start;
  scope = { accountId: newId('account'), testMode: true };
  work = {
    database,
    clock: { now: () => now },
    logger: createLogger({ service: 'billing', level: 'silent' }),
    checkout: {} as Work['checkout'],
    callerFor: () => {
      throw new Error('these tests call nobody');
    },
    arrivals: createArrivals(),
    failpoint: () => undefined,
  };
});

async function sell(
  parts: { cancelAtPeriodEnd?: boolean } = {},
): Promise<{ subscriptionId: string; invoiceId: string; sessionId: string }> {
  const ids = {
    subscriptionId: newId('subscription'),
    invoiceId: newId('invoice'),
    sessionId: newId('checkout_session'),
  };
  const command = create(StartSubscriptionSchema, {
    subscriptionId: ids.subscriptionId,
    invoiceId: ids.invoiceId,
    atMs: BigInt(start.getTime()),
    defaultPaymentMethodId: newId('payment_method'),
    session: {
      checkoutSessionId: ids.sessionId,
      customerId: newId('customer'),
      amountReceivedCents: 3_000n,
      subscriptionData: { cancelAtPeriodEnd: parts.cancelAtPeriodEnd ?? false },
      discounts: [{ discountId: newId('discount'), couponId: newId('coupon'), amountCents: 500n }],
    },
    lines: [
      {
        priceId: newId('price'),
        quantity: 2n,
        unitAmountCents: 1_500n,
        recurring: { interval: 'month', intervalCount: 1 },
      },
    ],
    paymentIntent: { paymentIntentId: newId('payment_intent'), latestChargeId: newId('charge') },
  });
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  // The same command again: a redelivery that the inbox let through would make nothing twice.
  await withTx(database, scope, (tx) => startSubscription(tx, scope, command));
  return ids;
}

const events = (id: string) =>
  test.admin<{ type: string }>('select type from billing.outbox where aggregate_id = $1 order by aggregate_seq', [id]);
const cancel = (id: string, parts: Partial<Parameters<typeof cancelSubscription>[3]> = {}) =>
  cancelSubscription(work, scope, id, { atPeriodEnd: false, refund: 'none', refundAmountCents: null, ...parts });

describe('starting a subscription', () => {
  it('makes it and its paid first invoice under the session’s ids, once, with its events', async () => {
    const { subscriptionId, invoiceId, sessionId } = await sell();
    const subscription = await findSubscription(database, scope, subscriptionId);
    expect(subscription).toMatchObject({ status: 'active', latestInvoiceId: invoiceId, checkoutSessionId: sessionId });
    expect(subscription?.items).toMatchObject([{ quantity: 2, unitAmountCents: 1_500 }]);
    expect(await findInvoice(database, scope, invoiceId)).toMatchObject({ status: 'paid', totalCents: 3_000 });
    expect((await events(subscriptionId)).map(({ type }) => type)).toEqual(['customer.subscription.created']);
    expect((await events(invoiceId)).map(({ type }) => type)).toEqual([
      'invoice.created',
      'invoice.finalized',
      'invoice.paid',
    ]);
  });

  it('is seen by its own account and mode only', async () => {
    const { subscriptionId } = await sell();
    for (const other of [
      { ...scope, testMode: false },
      { ...scope, accountId: newId('account') },
    ]) {
      expect(await findSubscription(database, other, subscriptionId)).toBeUndefined();
      expect((await listSubscriptions(database, other, { limit: 10 }, {})).subscriptions).toEqual([]);
    }
  });
});

describe('canceling a subscription', () => {
  it('asks for the refund by a command under an operation id, in the same transaction', async () => {
    const { subscriptionId } = await sell();
    await cancel(subscriptionId, { refund: 'full' });
    expect((await events(subscriptionId)).map(({ type }) => type)).toEqual([
      'customer.subscription.created',
      'customer.subscription.deleted',
      'command.refund',
    ]);
  });

  it('cancels once when asked several times at once', async () => {
    const { subscriptionId } = await sell();
    const answers = await Promise.allSettled([1, 2, 3].map(() => cancel(subscriptionId, { refund: 'full' })));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await events(subscriptionId)).filter(({ type }) => type === 'command.refund')).toHaveLength(1);
  });

  it('ends at the end of the period when asked to, and not before', async () => {
    const { subscriptionId } = await sell();
    await cancel(subscriptionId, { atPeriodEnd: true });
    now = new Date('2026-04-30T23:59:59.999Z');
    await runDueCancellations(work);
    expect((await findSubscription(database, scope, subscriptionId))?.status).toBe('active');
    now = new Date('2026-05-01T00:00:00.000Z');
    await runDueCancellations(work);
    const ended = await findSubscription(database, scope, subscriptionId);
    expect(ended).toMatchObject({ status: 'canceled', canceledAt: new Date('2026-05-01T00:00:00.000Z') });
    expect((await events(subscriptionId)).at(-1)?.type).toBe('customer.subscription.deleted');
  });

  it('ends by itself when it was sold for one period', async () => {
    const { subscriptionId } = await sell({ cancelAtPeriodEnd: true });
    now = new Date('2026-05-02T00:00:00.000Z');
    await runDueCancellations(work);
    expect((await findSubscription(database, scope, subscriptionId))?.status).toBe('canceled');
  });
});

describe('what the database alone refuses', () => {
  it('moves that are not in the state table, in every pair', async () => {
    const { subscriptionId } = await sell();
    for (const from of subscriptionStates.states) {
      for (const to of subscriptionStates.states) {
        if (from === to) continue;
        const dated = (status: string) => (status === 'canceled' ? 'now()' : 'null');
        await test.admin('alter table billing.subscriptions disable trigger guard_subscription');
        await test.admin(
          `update billing.subscriptions set status = '${from}', canceled_at = ${dated(from)} where id = $1`,
          [subscriptionId],
        );
        await test.admin('alter table billing.subscriptions enable trigger guard_subscription');
        const move = test.admin(
          `update billing.subscriptions set status = '${to}', canceled_at = ${dated(to)} where id = $1`,
          [subscriptionId],
        );
        if (subscriptionStates.canMove(from, to)) await expect(move).resolves.toBeDefined();
        else await expect(move).rejects.toMatchObject({ constraint: 'subscription_state_table' });
      }
    }
  });

  it('a second invoice for a period, and one that was paid with more than its total', async () => {
    const { invoiceId } = await sell();
    const copy = `insert into billing.invoices select (jsonb_populate_record(i, jsonb_build_object('id', $2::text))).* from billing.invoices i where id = $1`;
    await expect(test.admin(copy, [invoiceId, newId('invoice')])).rejects.toMatchObject({
      constraint: 'invoices_once_per_period',
    });
    await expect(
      test.admin('update billing.invoices set amount_paid_cents = total_cents + 1 where id = $1', [invoiceId]),
    ).rejects.toMatchObject({
      code: '23514',
    });
  });

  it('a test clock that goes back', async () => {
    const id = newId('test_clock');
    await test.admin(
      `insert into billing.test_clocks (account_id, test_mode, id, frozen_time, status, created_at) values ($1, true, $2, now(), 'ready', now())`,
      [scope.accountId, id],
    );
    await expect(
      test.admin(`update billing.test_clocks set frozen_time = frozen_time - interval '1 s' where id = $1`, [id]),
    ).rejects.toMatchObject({
      constraint: 'test_clock_goes_forward',
    });
  });
});
