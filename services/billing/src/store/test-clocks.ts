import { type Db, type Page, readPage, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { TurnPlace } from '@eligo/service';
import type { Clock } from '@eligo/values';
import type { TestClock } from '../domain/test-clock.ts';

interface ClockRow {
  id: string;
  name: string | null;
  frozen_time: Date;
  status: 'ready' | 'advancing';
  created_at: Date;
}

const names = ['id', 'name', 'frozen_time', 'status', 'created_at'];
const columns = names.join(', ');

function fromRow(row: ClockRow): TestClock {
  return { id: row.id, name: row.name, frozenTime: row.frozen_time, status: row.status, createdAt: row.created_at };
}

const select = scoped<ClockRow>(
  'test_clocks.find',
  `select ${columns} from test_clocks where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null`,
);
const selectForUpdate = scoped<ClockRow>(
  'test_clocks.lock',
  `select ${columns} from test_clocks where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null for update`,
);
const insert = scoped(
  'test_clocks.insert',
  `insert into test_clocks (account_id, test_mode, id, name, frozen_time, status, created_at)
   values ($1, $2, $3, $4, $5, 'ready', $6)`,
);
const move = scoped(
  'test_clocks.move',
  `update test_clocks set frozen_time = $4, status = $5 where account_id = $1 and test_mode = $2 and id = $3`,
);
const remove = scoped(
  'test_clocks.delete',
  `update test_clocks set deleted_at = $4 where account_id = $1 and test_mode = $2 and id = $3 and deleted_at is null`,
);

const selectAccounts = unscoped<{ account_id: string; test_mode: boolean }>(
  'test_clocks.turns',
  'select account_id, test_mode from advancing_clock_turns($1, $2, $3)',
);
const selectAdvancing = scoped<{ id: string }>(
  'test_clocks.advancing',
  `select id from test_clocks
   where account_id = $1 and test_mode = $2 and status = 'advancing' and deleted_at is null and id > $3 order by id limit $4`,
);

/** The accounts after a place that have a clock with more to do, at most `most`. */
export async function accountsWithAdvancingClocks(db: Db, after: TurnPlace, most: number): Promise<Scope[]> {
  const rows = await db.rows(selectAccounts, null, [after.accountId, after.testMode, most]);
  return rows.map((row) => ({ accountId: row.account_id, testMode: row.test_mode }));
}

/** The clocks of an account behind one that have more to do, at most `most`. */
export async function advancingClocks(db: Db, scope: Scope, after: string, most: number): Promise<string[]> {
  return (await db.rows(selectAdvancing, scope, [after, most])).map(({ id }) => id);
}

/** The clock, unless it was deleted. */
export async function findTestClock(db: Db, scope: Scope, id: string): Promise<TestClock | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && fromRow(row);
}

/** A page of clocks that were not deleted, newest first. */
export async function listTestClocks(
  db: Db,
  scope: Scope,
  page: Page,
): Promise<{ clocks: TestClock[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<ClockRow>(
    db,
    scope,
    { table: 'test_clocks', id: 'id', columns: names, filter: (query) => query.whereNull('deleted_at') },
    page,
  );
  return { clocks: rows.map(fromRow), hasMore };
}

export async function lockTestClock(tx: Tx, scope: Scope, id: string): Promise<TestClock | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  return row && fromRow(row);
}

export async function insertTestClock(tx: Tx, scope: Scope, clock: TestClock): Promise<void> {
  await tx.execute(insert, scope, [clock.id, clock.name, clock.frozenTime, clock.createdAt]);
}

export async function moveTestClock(
  tx: Tx,
  scope: Scope,
  id: string,
  frozenTime: Date,
  status: TestClock['status'],
): Promise<void> {
  await tx.execute(move, scope, [id, frozenTime, status]);
}

export async function deleteTestClock(tx: Tx, scope: Scope, id: string, at: Date): Promise<void> {
  await tx.execute(remove, scope, [id, at]);
}

/** The time of a record that may live on a clock. */
export async function timeOnClock(db: Db, scope: Scope, clock: Clock, testClockId: string | null): Promise<Date> {
  if (testClockId === null) return clock.now();
  return (await findTestClock(db, scope, testClockId))?.frozenTime ?? clock.now();
}
