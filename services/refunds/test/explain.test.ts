import { unscoped } from '@eligo/postgres';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import pg from 'pg';
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

// They run as the finder, through functions, and answer ids only (architecture, invariant 6).
const acrossAccounts = /due_refund_work|refund_work_in_doubt|prune_|pg_prepared_statements|outbox|inbox/;

it('every statement of the store finds its rows by an index that leads with account and mode', async () => {
  await runEverything();
  // Whatever was prepared on either of the pool's connections.
  const { database } = on.service;
  const prepared = await Promise.all([database.rows(selectPrepared, null), database.rows(selectPrepared, null)]);
  const statements = new Map(prepared.flat().map(({ name, statement }) => [name, statement]));
  for (const [name, statement] of statements) if (acrossAccounts.test(statement)) statements.delete(name);
  expect(statements.size).toBeGreaterThan(20);
  const client = new pg.Client(place.adminUrl);
  await client.connect();
  try {
    // As the service's own role: row-level security keeps some conditions from using an index. With sequential scans priced out, one that is
    // still there has no index to use.
    await client.query('set role eligo_refunds; set enable_seqscan = off; set search_path = refunds');
    const faults: string[] = [];
    for (const [name, statement] of statements) {
      const { rows } = await client.query(`explain (generic_plan, costs off) ${statement}`);
      const plan = rows.map((row) => String(row['QUERY PLAN']));
      for (const [i, step] of plan.entries()) {
        if (/Seq Scan on/.test(step)) faults.push(`${name}: ${step.trim()}`);
        if (!/Index (Only )?Scan.* on|Bitmap Index Scan/.test(step)) continue;
        const condition = plan.slice(i + 1, i + 3).find((line) => line.includes('Index Cond')) ?? '';
        const leads = condition.includes('account_id') && condition.includes('test_mode');
        if (!leads) faults.push(`${name}: ${step.trim()} ${condition.trim()}`);
      }
    }
    expect(faults).toEqual([]);
  } finally {
    await client.end();
  }
});

const selectPrepared = unscoped<{ name: string; statement: string }>(
  'test.prepared',
  'select name, statement from pg_prepared_statements order by name',
);

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
