import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GatheringSocket } from '../src/gathering-socket.ts';
import { type Database, unscoped, withTx } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';
import { insert, scope, storedThings } from './things.ts';

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
});
afterAll(() => on.drop());
beforeEach(() => on.admin('truncate alpha.things'));

describe('BEGIN', () => {
  test('goes out together with what the function sends first', async () => {
    await database.ping();
    const calls = [vi.spyOn(GatheringSocket.prototype, '_write'), vi.spyOn(GatheringSocket.prototype, '_writev')];
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await withTx(database, scope, (tx) =>
      Promise.all([tx.execute(insert, scope, ['a', 5]), tx.execute(insert, scope, ['b', 6])]),
    );
    // The other one is COMMIT.
    expect(calls.reduce((sum, call) => sum + call.mock.calls.length, 0)).toBe(2);
    expect(await storedThings(on)).toEqual(['a', 'b']);
  });

  test('that fails says why, although the function was already running, and keeps nothing', async () => {
    const refused = { lockTimeoutMs: Number.NaN };
    const attempt = withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5]), refused);
    await expect(attempt).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('lock_timeout') });
    const swallowed = withTx(database, scope, (tx) => tx.execute(insert, scope, ['b', 5]).catch(() => 0), refused);
    await expect(swallowed).rejects.toMatchObject({ code: '22023' });
    expect(await storedThings(on)).toEqual([]);
    expect(await withTx(database, scope, (tx) => tx.execute(insert, scope, ['c', 5]))).toBe(1);
  });

  test('that fails keeps nothing, not even where no account guards the rows', async () => {
    await on.admin('create table alpha.notes (note text); grant insert on alpha.notes to eligo_alpha');
    const note = unscoped('t.note', 'insert into notes (note) values ($1)');
    const unheard = { isolation: 'unheard of' as 'serializable' };
    for (const context of [scope, null]) {
      const attempt = withTx(database, context, (tx) => tx.execute(note, null, ['kept']), unheard);
      await expect(attempt).rejects.toMatchObject({ code: '42601' });
    }
    expect(await on.admin('select note from alpha.notes')).toEqual([]);
  });

  test('keeps the order of what is sent behind a statement that waits for its answer', async () => {
    const count = unscoped<{ n: bigint }>('t.count', 'select count(*) as n from things');
    const [before, , after] = await withTx(database, scope, (tx) =>
      Promise.all([tx.row(count, null), tx.execute(insert, scope, ['a', 5]), tx.row(count, null)]),
    );
    expect([before?.n, after?.n]).toEqual([0n, 1n]);
  });
});
