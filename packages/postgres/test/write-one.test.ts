import { Failure } from '@eligo/failures';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CommitUnknown, type Database, scoped, withTx, writeOne } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';
import { scope, storedThings } from './things.ts';

const insert = scoped<{ thing_id: string }>(
  't.insert_one',
  'insert into things (account_id, test_mode, thing_id, amount) values ($1, $2, $3, $4) returning thing_id',
);
const insertChild = scoped<never>(
  't.insert_one_child',
  'insert into things (account_id, test_mode, thing_id, parent_id) values ($1, $2, $3, $4)',
);

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open('alpha', { max: 1 });
});
afterAll(() => on.drop());
beforeEach(() => on.admin('truncate alpha.things'));

test('commits the statement and returns its rows', async () => {
  expect(await writeOne(database, scope, insert, ['a', 1])).toEqual([{ thing_id: 'a' }]);
  expect(await storedThings(on)).toEqual(['a']);
});

test('rejects with the error of the statement, writes nothing and keeps the connection usable', async () => {
  await writeOne(database, scope, insert, ['a', 1]);
  await expect(writeOne(database, scope, insert, ['a', 1])).rejects.toMatchObject({ code: '23505' });
  await writeOne(database, scope, insert, ['b', 1]);
  expect(await storedThings(on)).toEqual(['a', 'b']);
});

test('rejects when a deferred constraint refuses COMMIT', async () => {
  const attempt = writeOne(database, scope, insertChild, ['a', 'nobody']);
  await expect(attempt).rejects.toMatchObject({ code: '23503', constraint: 'things_parent' });
  expect(await storedThings(on)).toEqual([]);
});

test('leaves the account of its transaction to nobody: the next statement of the connection sees no row', async () => {
  await writeOne(database, scope, insert, ['a', 1]);
  const [setting] = await database.rows(
    scoped<{ account: string }>('t.account_after', "select current_setting('eligo.account_id') as account, $1, $2"),
    { ...scope, accountId: 'facct_b' },
  );
  expect(setting?.account).toBe('facct_b');
});

test('is refused inside a transaction', async () => {
  const nested = withTx(database, scope, () => writeOne(database, scope, insert, ['a', 1]));
  await expect(nested).rejects.toThrow('a transaction inside a transaction');
});

test('tells a COMMIT whose answer never came from one that was refused', async () => {
  // A deferred trigger holds COMMIT until the test has killed the backend.
  await on.admin(`
    create function alpha.hold_commit() returns trigger language plpgsql as $$
      begin perform pg_sleep(30); return null; end $$;
    create constraint trigger hold after insert on alpha.things deferrable initially deferred
      for each row execute function alpha.hold_commit()`);
  const slow = on.open('alpha', { statementTimeoutMs: 60_000, applicationName: 'held' });
  const settled = expect(writeOne(slow, scope, insert, ['held', 5])).rejects.toSatisfy(
    (error) => error instanceof Failure && error.code === 'service_unavailable' && error.cause instanceof CommitUnknown,
  );
  const sleeping = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
  await expect.poll(async () => (await on.admin(sleeping)).length).toBe(1);
  await on.admin(`select pg_terminate_backend(pid) from (${sleeping}) held`);
  await settled;
  expect(await storedThings(on)).toEqual([]);
});
