import { withTx } from '@eligo/postgres';
import { untilLockWait } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { releasePaymentLocks } from '../src/store/payment-locks.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

it('locks are given up in the order in which they are taken, customer before card: neither waits with the other’s next row in hand', async () => {
  // The card's row lies before the customer's in the table, where a scan would come to it first.
  for (const kind of ['payment_method', 'customer']) {
    await fixture.test.admin(
      `insert into checkout.payment_locks (account_id, test_mode, kind, id, attempt_id, lease_until)
       values ($1, true, $2, 'x', 'ours', now() + interval '1 minute')`,
      [fixture.scope.accountId, kind],
    );
  }
  const row = 'select 1 from checkout.payment_locks where account_id = $1 and kind = $2 for update';
  const taker = new pg.Client(fixture.test.adminUrl);
  await taker.connect();
  try {
    await taker.query('begin');
    await taker.query(row, [fixture.scope.accountId, 'customer']);
    const released = withTx(fixture.database, fixture.scope, (tx) => releasePaymentLocks(tx, fixture.scope, 'ours'));
    await untilLockWait(fixture.test.admin, 'the one that gives them up');
    await taker.query(`${row} nowait`, [fixture.scope.accountId, 'payment_method']);
    await taker.query('commit');
    await released;
  } finally {
    await taker.end();
  }
  expect(await fixture.test.admin('select 1 from checkout.payment_locks')).toEqual([]);
});
