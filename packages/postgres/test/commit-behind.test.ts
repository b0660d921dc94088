import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GatheringSocket } from '../src/gathering-socket.ts';
import {
  afterCommit,
  CommitRefused,
  CommitUnknown,
  commitBehind,
  type Database,
  scoped,
  unscoped,
  withTx,
} from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';
import { insert, scope, storedThings } from './things.ts';

const insertChild = scoped(
  't.insert_child',
  'insert into things (account_id, test_mode, thing_id, parent_id) values ($1, $2, $3, $4)',
);
const raise = scoped(
  't.raise',
  'update things set amount = amount + 1 where account_id = $1 and test_mode = $2 and thing_id = $3',
);
const pid = unscoped<{ pid: number }>('t.pid', 'select pg_backend_pid() as pid');

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
});
afterAll(() => on.drop());
beforeEach(() => on.admin('truncate alpha.things'));

describe('a COMMIT behind the last statements', () => {
  test('travels with BEGIN and with them', async () => {
    await database.ping();
    const calls = [vi.spyOn(GatheringSocket.prototype, '_write'), vi.spyOn(GatheringSocket.prototype, '_writev')];
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await withTx(database, scope, async (tx) => {
      const written = Promise.all([tx.execute(insert, scope, ['a', 5]), tx.execute(insert, scope, ['b', 6])]);
      commitBehind(tx);
      return written;
    });
    expect(calls.reduce((sum, call) => sum + call.mock.calls.length, 0)).toBe(1);
    expect(await storedThings(on)).toEqual(['a', 'b']);
  });

  test('commits nothing when one of them fails, and says why', async () => {
    const seen: string[] = [];
    const attempt = withTx(database, scope, async (tx) => {
      afterCommit(tx, () => void seen.push('committed'));
      const written = Promise.all([tx.execute(insert, scope, ['a', 5]), tx.execute(insert, scope, ['a', 6])]);
      commitBehind(tx);
      return written;
    });
    await expect(attempt).rejects.toMatchObject({ code: '23505' });
    expect(await storedThings(on)).toEqual([]);
    expect(seen).toEqual([]);
    expect(await withTx(database, scope, (tx) => tx.execute(insert, scope, ['b', 5]))).toBe(1);
  });

  test('is refused when a failed statement was swallowed', async () => {
    const attempt = withTx(database, scope, async (tx) => {
      const written = [tx.execute(insert, scope, ['a', 5]), tx.execute(insert, scope, ['a', 6])];
      commitBehind(tx);
      return Promise.allSettled(written);
    });
    await expect(attempt).rejects.toThrow(CommitRefused);
    expect(await storedThings(on)).toEqual([]);
  });

  test('is refused by a deferred constraint', async () => {
    const attempt = withTx(database, scope, (tx) => {
      const written = tx.execute(insertChild, scope, ['a', 'nobody']);
      commitBehind(tx);
      return written;
    });
    await expect(attempt).rejects.toMatchObject({ code: '23503', constraint: 'things_parent' });
    expect(await storedThings(on)).toEqual([]);
  });

  test('keeps its place behind a statement that waits for BEGIN', async () => {
    await withTx(database, scope, async (tx) => {
      const sent = Promise.all([tx.row(pid, null), tx.execute(insert, scope, ['a', 5])]);
      commitBehind(tx);
      await sent;
    });
    expect(await storedThings(on)).toEqual(['a']);
  });

  test('is the end: nothing can be sent afterwards', async () => {
    const attempt = withTx(database, scope, async (tx) => {
      const written = tx.execute(insert, scope, ['a', 5]);
      commitBehind(tx);
      await written;
      await tx.execute(insert, scope, ['b', 5]);
    });
    await expect(attempt).rejects.toThrow('has ended');
    expect(await storedThings(on)).toEqual(['a']);
  });

  test('leaves the outcome unknown when the connection is lost before it is answered', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 1]));
    const reached = Promise.withResolvers<number>();
    const held = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holder = withTx(database, scope, async (tx) => {
      await tx.execute(raise, scope, ['a']);
      held.resolve();
      await release.promise;
    });
    await held.promise;
    const waiting = withTx(database, scope, async (tx) => {
      reached.resolve((await tx.row(pid, null))?.pid ?? 0);
      const written = tx.execute(raise, scope, ['a']);
      commitBehind(tx);
      return written;
    });
    const lost = waiting.catch((error: unknown) => error);
    await on.admin('select pg_terminate_backend($1, 5000)', [await reached.promise]);
    expect(await lost).toMatchObject({ code: 'service_unavailable', cause: expect.any(CommitUnknown) });
    release.resolve();
    await holder;
  });
});
