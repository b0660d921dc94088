import { withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { plansOf } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { advanceTestClock, createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import { cancelDue } from '../src/jobs/cancel-due.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { findInvoices, listInvoices } from '../src/store/invoices.ts';
import { findSubscriptions, listSubscriptions } from '../src/store/subscriptions.ts';
import { moveTestClock } from '../src/store/test-clocks.ts';
import { type Machine, machine, sell, someScope, start } from './machine.ts';

let on: Machine;
beforeAll(async () => {
  // One connection, so that all statements are prepared on it, where they can be read back.
  on = await machine({ connections: 1 });
});
afterAll(() => on.close());

it('every statement of the store finds its rows by an index that leads with account and mode', async () => {
  await runStore();
  const acrossAccounts = /due_cancellations|next_cancellation|advancing_test_clocks/;
  const { database, test } = on;
  const { checked, faults } = await plansOf({ name: 'billing', database, adminUrl: test.adminUrl, acrossAccounts });
  expect(checked).toBeGreaterThan(20);
  expect(faults).toEqual([]);
});

async function runStore(): Promise<void> {
  const { database, work } = on;
  const scope = someScope();
  const call = { scope } as Call;
  const clock = await createTestClock(work, call, { frozenTime: start, name: null });
  const { subscriptionId, invoiceId } = await sell(on, scope, { testClockId: clock.id, cancelAtPeriodEnd: true });
  const now = { atPeriodEnd: false, refund: 'full', refundAmountCents: null } as const;
  await cancelSubscription(work, scope, (await sell(on, scope)).subscriptionId, now);
  await advanceTestClock(work, call, clock.id, new Date('2026-06-01'));
  await withTx(database, scope, (tx) => moveTestClock(tx, scope, clock.id, new Date('2026-06-02'), 'advancing'));
  await finishClocks({ ...work, callerFor: () => ({}) as never }, new AbortController().signal);
  await cancelDue(work).run(new AbortController().signal);
  await removeTestClock(work, call, clock.id);
  await findSubscriptions(database, scope, [subscriptionId]);
  await findInvoices(database, scope, [invoiceId]);
  // A built query is prepared once its shape has come back a few times.
  for (let i = 0; i < 5; i++) {
    for (const page of [{ limit: 1 }, { limit: 1, startingAfter: subscriptionId }]) {
      for (const filter of [{}, { customerId: 'fcus_x' }, { status: 'active' }]) {
        await listSubscriptions(database, scope, page, filter);
      }
    }
    for (const page of [{ limit: 1 }, { limit: 1, startingAfter: invoiceId }]) {
      for (const filter of [{}, { customerId: 'fcus_x' }, { subscriptionId: 'fsub_x' }]) {
        await listInvoices(database, scope, page, { ids: [], ...filter });
      }
    }
  }
}
