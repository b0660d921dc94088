import { maxGroupSize, type Scope, scoped, withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DuePlace, runDue, runDueSubscriptions } from '../src/jobs/run-due.ts';
import { type Fixture, openFixture, someScope } from './fixture.ts';

let on: Fixture;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

/** Subscriptions of an account that end with a period. */
const endingOf = ({ accountId }: Scope, count: number, endedAt: string) =>
  on.test.admin(
    `insert into billing.subscriptions (account_id, test_mode, id, customer_id, status, anchor, interval, interval_count,
       current_period_start, current_period_end, cancel_at_period_end, created_at)
     select $1, true, 'fsub_' || right($1, 26) || n || extract(epoch from $3::timestamptz), 'fcus_x', 'active', $3::timestamptz - interval '1 month', 'month', 1,
            $3::timestamptz - interval '1 month', $3, true, $3::timestamptz - interval '1 month'
     from generate_series(1, $2) n`,
    [accountId, count, endedAt],
  );
const left = async (accountIds: readonly string[]) =>
  (
    await on.test.admin<{ account_id: string }>(
      `select account_id from billing.subscriptions where account_id = any($1) and status = 'active' and current_period_end <= $2`,
      [accountIds, on.context.clock.now()],
    )
  ).length;

// A look takes two groups of what is due longest and, of each of the next 50 accounts, one group.
const look = 2 * maxGroupSize;
const accountsInLook = 50;

describe('accounts that wait behind a backlog of another one, which has been due for longer', () => {
  it('have their turn in two looks if there are more of them than a look takes, and in the next two again [D14.93]', async () => {
    const busy = someScope();
    const waiting = Array.from({ length: accountsInLook + 10 }, someScope);
    const ids = waiting.map(({ accountId }) => accountId);
    // The busy account takes the front of each of four looks, and may have a turn in each.
    const backlog = 4 * (look + maxGroupSize) + look;
    await endingOf(busy, backlog, '2026-03-01T00:00:00.000Z');
    // Those who wait have subscriptions of later, too: an account without one is passed over.
    for (const scope of waiting) await endingOf(scope, 1, '2027-01-01T00:00:00.000Z');
    const place: DuePlace = {};
    const { signal } = new AbortController();
    for (const endedAt of ['2026-04-01T00:00:00.000Z', '2026-04-02T00:00:00.000Z']) {
      for (const scope of waiting) await endingOf(scope, 1, endedAt);
      on.at(endedAt);
      expect(await runDueSubscriptions(on.context, signal, place)).toBe(true);
      expect(await left(ids)).toBeGreaterThan(0);
      expect(await runDueSubscriptions(on.context, signal, place)).toBe(true);
      expect(await left(ids)).toBe(0);
    }
    expect(await left([busy.accountId])).toBeGreaterThanOrEqual(look);
  });
});

it('a run looks on while the last of an earlier look are at work, and ends when they have ended', async () => {
  const endedAt = '2026-05-01T00:00:00.000Z';
  const scope = someScope();
  await endingOf(scope, look + maxGroupSize + 1, endedAt);
  on.at(endedAt);
  const locked = Promise.withResolvers<void>();
  const unlock = Promise.withResolvers<void>();
  const lock = withTx(on.context.database, scope, async (tx) => {
    await tx.rows(lockFirst, scope, []);
    locked.resolve();
    await unlock.promise;
  });
  await locked.promise;
  let hasEnded = false;
  const run = runDue(on.context)
    .run(new AbortController().signal)
    .finally(() => {
      hasEnded = true;
    });
  await waitUntil(async () => (await left([scope.accountId])) === 1);
  await waitUntil(async () => {
    const waiting = await on.test.admin(
      `select from pg_locks l join pg_stat_activity a on a.pid = l.pid where not l.granted and a.datname = current_database()`,
    );
    return waiting.length === 1;
  });
  expect(hasEnded).toBe(false);
  unlock.resolve();
  await Promise.all([lock, run]);
  expect(await left([scope.accountId])).toBe(0);
});

// What a claim does not wait for, and an end does.
const lockFirst = scoped(
  'subscriptions.lock_by_test',
  `select id from subscriptions where account_id = $1 and test_mode = $2 and status = 'active' order by work_at, id limit 1 for key share`,
);
