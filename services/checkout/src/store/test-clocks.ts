import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Clock } from '@eligo/values';
import { expireLettersJob } from './letters.ts';

/**
 * The time that an action for this customer takes place at: its test clock's, or the wall clock's where it has none or that was deleted. A customer that is not
 * there (or none) is at the wall clock's time; whether it exists is for the action to decide.
 */
export async function actingTime(db: Db, scope: Scope, clock: Clock, customerId: string | null): Promise<Date> {
  if (!scope.testMode || customerId === null) return clock.now();
  const row = await db.row(timeOfCustomer, scope, [customerId]);
  return row?.frozen_time ?? clock.now();
}

/** The same for a session, whose clock is its customer's. */
export async function timeOnClock(db: Db, scope: Scope, clock: Clock, testClockId: string | null): Promise<Date> {
  if (testClockId === null) return clock.now();
  return (await findTestClock(db, scope, testClockId)) ?? clock.now();
}

/** What a test clock shows; undefined when there is no such clock, or it was deleted. */
export async function findTestClock(db: Db, scope: Scope, id: string): Promise<Date | undefined> {
  return (await db.row(clockById, scope, [id]))?.frozen_time;
}

/** The job that does what a clock has made due. */
export const testClocksJob = 'expire-sessions';

/** Mirrors a clock's time. It only goes forward, whatever order the calls arrive in. */
export async function mirrorTestClock(
  tx: Tx,
  scope: Scope,
  id: string,
  time: Date,
  deletedAt: Date | null,
): Promise<void> {
  await tx.execute(upsert, scope, [id, time, deletedAt]);
  wakeJobAfterCommit(tx, testClocksJob);
  wakeJobAfterCommit(tx, expireLettersJob);
}

/** Clocks of any account that were moved and of which nothing is due any more, each with the time for which that holds. */
export async function settledClocks(db: Db, most: number): Promise<{ scope: Scope; id: string; time: Date }[]> {
  return (await db.rows(selectSettled, null, [most])).map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    id: row.id,
    time: row.frozen_time,
  }));
}

/** Looks at the clock no more until it moves; one that has moved meanwhile stays as it is. */
export async function settleClock(tx: Tx, scope: Scope, id: string, time: Date): Promise<void> {
  await tx.execute(settle, scope, [id, time]);
}

const timeOfCustomer = scoped<{ frozen_time: Date }>(
  'test_clocks.of_customer',
  `select k.frozen_time from checkout.customers c
   join checkout.test_clocks k on k.account_id = c.account_id and k.test_mode = c.test_mode and k.id = c.test_clock_id
   where c.account_id = $1 and c.test_mode = $2 and c.id = $3 and k.deleted_at is null`,
);

const clockById = scoped<{ frozen_time: Date }>(
  'test_clocks.load',
  `select frozen_time from checkout.test_clocks
   where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null`,
);

const upsert = scoped<never>(
  'test_clocks.mirror',
  `insert into checkout.test_clocks (account_id, test_mode, id, frozen_time, deleted_at) values ($1, $2, $3, $4, $5)
   on conflict (account_id, test_mode, id) do update
     set frozen_time = greatest(test_clocks.frozen_time, excluded.frozen_time),
         unsettled = coalesce(test_clocks.deleted_at, excluded.deleted_at) is null,
         deleted_at = coalesce(test_clocks.deleted_at, excluded.deleted_at)`,
);

const selectSettled = unscoped<{ account_id: string; test_mode: boolean; id: string; frozen_time: Date }>(
  'test_clocks.settled',
  'select account_id, test_mode, id, frozen_time from checkout.settled_clocks($1)',
);

const settle = scoped<never>(
  'test_clocks.settle',
  `update checkout.test_clocks set unsettled = false
   where account_id = $1 and test_mode = $2 and id = $3 and frozen_time = $4`,
);
