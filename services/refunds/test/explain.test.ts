import { plansOf, type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refundsService } from '../src/service.ts';
import { type Machine, machine, someScope, under, untilStatus } from './machine.ts';

let on: Machine;
let place: TestDatabase;
beforeAll(async () => {
  [on, place] = await Promise.all([machine({ connections: 2 }), testDatabase(refundsService)]);
});
afterAll(async () => {
  await on.close();
  await place.drop();
});

it('every statement of the store finds its rows by an index that leads with account and mode', async () => {
  await runEverything();
  const { database } = on.service;
  const acrossAccounts = /due_refund_work|refund_work_in_doubt|prune_/;
  const service = { name: 'refunds', database, connections: 2, adminUrl: place.adminUrl, acrossAccounts };
  const { checked, faults } = await plansOf(service);
  expect(checked).toBeGreaterThan(20);
  expect(faults).toEqual([]);
});

async function runEverything(): Promise<void> {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 4_000, refund_pending: 100 });
  const request = { sessionId: session.id, instruction: { amountCents: 100n }, idempotency: under('k') };
  const first = (await on.refunds.refundSession(request, on.as(scope))).refund?.refundId ?? '';
  await on.refunds.refundSession(request, on.as(scope));
  await untilStatus(on, scope, first, 'succeeded');
  await on.refunds.updateRefund({ id: first, reason: 'x' }, on.as(scope));
  await on.refunds.settleTestRefund({ id: first, succeed: false }, on.as(scope));
  on.checkout.trouble('busy');
  await on.refunds.refundSession({ ...request, idempotency: under('k2') }, on.as(scope)).catch(() => undefined);
  on.checkout.trouble('lost_before');
  await on.refunds.refundSession({ ...request, idempotency: under('k3') }, on.as(scope)).catch(() => undefined);
  await on.fault({ call: 'refunds.create', kind: 'error_before' });
  for (let i = 0; i < 3; i++) await on.sweep();
  // A built query is prepared once its shape has come back a few times.
  for (let i = 0; i < 5; i++) {
    const page = { limit: 1n, startingAfter: first };
    for (const filter of [{}, { checkoutSessionId: session.id }, { paymentIntentId: 'fpi_x' }]) {
      await on.refunds.listRefunds(filter, on.as(scope));
      await on.refunds.listRefunds({ ...filter, page }, on.as(scope));
    }
  }
}
