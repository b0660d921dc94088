import {
  fillTables,
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededRows,
  type TestDatabase,
} from '@eligo/testkit';
import { beforeAll, expect, test } from 'vitest';
import { checkoutService } from '../src/service.ts';
import { listCustomers } from '../src/store/customers.ts';
import { streamSessions } from '../src/store/session-list.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: checkoutService, seed, run });
}, 240_000);

test('a list of customers passes over no deleted ones, and one of sessions over none of another status or mode', () => {
  expect(growths(read.small, read.large)).toEqual([]);
});

// The newest half of the customers is deleted. Half of the sessions are complete and half are subscriptions; the oldest ten are both.
async function seed(database: TestDatabase, each: number): Promise<void> {
  const scope = 'account_id, test_mode';
  const many = seededRows(each);
  await fillTables(database, 'checkout', [
    `customers (${scope}, id, email, created_at, updated_at, deleted_at)
     select account, true, 'fcus_' || id, 'c' || n || '@example.com', at, at, case when n > ${each / 2} then at end ${many}`,
    `sessions (${scope}, id, status, mode, capture_method, amount_subtotal_cents, amount_discount_cents, amount_tax_cents,
       amount_shipping_cents, amount_fee_cents, amount_total_cents, amount_eligible_cents, amount_iias_cents, amount_prescription_cents,
       amount_vision_cents, amount_service_cents, amount_received_cents, letter_required, fee_count, discount_count, expires_at, created_at)
     select account, true, 'fcs_' || id, case when n <= 10 or n % 2 = 0 then 'complete' else 'expired' end,
       case when n <= 10 or n % 2 = 1 then 'subscription' else 'payment' end, 'automatic', 1000, 0, 0, 0, 0, 1000, 0, 0, 0, 0, 0, 0, false, 0, 0,
       at, at ${many}`,
  ]);
}

async function run(database: TestDatabase): Promise<void> {
  const scope = { accountId: seededAccount, testMode: true };
  const pool = database.open('checkout', { statementTimeoutMs: 30_000 });
  // As often as a connection needs to keep its plan.
  for (let times = 0; times < 8; times += 1) {
    await listCustomers(pool, scope, { limit: 10 }, undefined);
    for (const filter of [
      { status: 'complete', mode: 'subscription' },
      { status: 'canceled', mode: 'payment' },
      { status: 'complete', mode: 'setup' },
    ]) {
      for await (const one of streamSessions(pool, scope, { limit: 10 }, filter)) void one;
    }
  }
  await pool.close();
}
