import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConnectionTurns } from '../src/connection-turns.ts';
import { asOwnWork, openSession, readinessAccountId, type Scope, scoped, unscoped, withTx } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';
import { insert } from './things.ts';

const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ accountId: `facct_${name}`, testMode: false })) as [
  Scope,
  Scope,
  Scope,
];
const aTest = { ...a, testMode: true };

const change = scoped(
  'ct.change',
  'update things set amount = amount + 1 where account_id = $1 and test_mode = $2 and thing_id = $3',
);
const get = scoped('ct.get', 'select thing_id from things where account_id = $1 and test_mode = $2 and thing_id = $3');
const count = unscoped<{ n: bigint }>('ct.count', 'select count(*) as n from things');

describe('a pool of ten connections', () => {
  let on: TestDatabase;
  beforeAll(async () => {
    on = await testDatabase();
    await withTx(on.open(), a, (tx) => tx.execute(insert, a, ['row', 0]));
  });
  afterAll(() => on.drop());

  /** An account whose transactions all wait for one row, with a pool of their own. */
  async function besideWaitsForOneRow() {
    const applicationName = `waits ${crypto.randomUUID()}`;
    const pool = on.open('alpha', { max: 10, applicationName, lockTimeoutMs: 60_000, statementTimeoutMs: 60_000 });
    const holder = await openSession(on.open('alpha', { url: on.adminUrl }), 'holds the row');
    await holder.query("begin; select 1 from alpha.things where thing_id = 'row' for update");
    let ended = 0;
    const waits = Array.from({ length: 25 }, () =>
      withTx(pool, a, (tx) => tx.execute(change, a, ['row'])).finally(() => ended++),
    );
    const locked = async () => {
      const [row] = await on.admin(
        "select count(*)::int as n from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'",
        [applicationName],
      );
      return row?.n;
    };
    const unlock = async () => {
      await holder.query('rollback');
      await Promise.all(waits);
      await holder.close();
    };
    await expect.poll(locked, { timeout: 20_000 }).toBe(8);
    return { pool, locked, unlock, ended: () => ended };
  }

  test('serves other accounts, and work without an account, while one account waits for a row with all that it may hold [D14.387]', async () => {
    const { pool, locked, unlock, ended } = await besideWaitsForOneRow();
    await pool.row(get, b, ['x']);
    await withTx(pool, b, (tx) => tx.execute(insert, b, ['of b', 1]));
    await Promise.all(Array.from({ length: 20 }, (_, at) => pool.row(get, at % 2 === 0 ? b : c, ['x'])));
    await pool.row(count, null);
    // Its live mode is not its test mode, and a job for it is not its calls.
    await pool.row(get, aTest, ['x']);
    await asOwnWork(() => pool.row(get, a, ['x']));
    expect([ended(), await locked(), pool.stats().waiting]).toEqual([0, 8, 17]);
    await unlock();
    expect([ended(), pool.stats().waiting]).toEqual([25, 0]);
  });

  test('refuses with 503 what waited for too long, and counts it [D14.387]', async () => {
    const pool = on.open('alpha', { max: 1, connectionWaitMs: 20 });
    await withTx(pool, a, async (tx) => {
      const refusal = { code: 'service_unavailable', status: 503, retryAfterSeconds: 1 };
      await expect(outside(() => pool.row(get, b, ['x']))).rejects.toMatchObject(refusal);
      await expect(outside(() => withTx(pool, aTest, async () => undefined))).rejects.toMatchObject(refusal);
      await tx.execute(change, a, ['row']);
    });
    expect(pool.refused()).toEqual([
      ['process', 0],
      ['live', 1],
      ['test', 1],
    ]);
    await pool.row(get, b, ['x']);
  });

  test('that closes refuses what waits [D14.387]', async () => {
    const pool = on.open('alpha', { max: 1 });
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const running = withTx(pool, a, async () => {
      begin();
      await over;
    });
    await begun;
    const waits = pool.row(get, b, ['x']);
    const closed = pool.close();
    await expect(waits).rejects.toMatchObject({ code: 'service_unavailable' });
    end();
    await Promise.all([running, closed]);
  });
});

/** As another request, outside of the transaction that the test is in. */
const outside = asAnotherRequest();
function asAnotherRequest() {
  const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks');
  const snapshot = AsyncLocalStorage.snapshot();
  return <Result>(run: () => Result): Result => snapshot(run);
}

describe('the turns at connections', () => {
  const ask = (turns: ConnectionTurns, order: string[], name: string, scope: Scope | null) => {
    const waited = turns.enter(scope);
    if (waited === undefined) order.push(name);
    else void waited.then(() => order.push(name));
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const open = (connections: number) => {
    const turns = new ConnectionTurns(connections, 60_000);
    const order: string[] = [];
    const times = (most: number, name: string, scope: Scope | null) => {
      for (let at = 0; at < most; at++) ask(turns, order, name, scope);
    };
    const leave = async (scope: Scope | null) => {
      turns.leave(scope);
      await settled();
    };
    return { turns, order, times, leave };
  };

  test('leave the last fifth to accounts that hold none, and all of it to work without an account [D14.387]', () => {
    const { turns, order, times } = open(10);
    times(12, 'a', a);
    expect([order.length, turns.waiting]).toEqual([8, 4]);
    times(2, 'b', b);
    expect([order.slice(8), turns.waiting]).toEqual([['b'], 5]);
    times(1, '-', null);
    expect([order.slice(9), turns.waiting]).toEqual([['-'], 5]);
  });

  test('give an account that holds half nothing more while another one waits, and go on with it where none does [D14.387]', async () => {
    const { order, times, leave } = open(10);
    times(14, 'a', a);
    times(6, 'b', b);
    expect(order.splice(0)).toEqual([...Array.from({ length: 8 }, () => 'a'), 'b']);
    // Two are left free.
    await leave(a);
    expect(order).toEqual([]);
    for (let at = 0; at < 4; at++) await leave(a);
    expect(order.splice(0)).toEqual(['b', 'b', 'a', 'b']);
    for (let at = 0; at < 4; at++) await leave(b);
    expect(order.splice(0)).toEqual(['a', 'b', 'b', 'a']);
  });

  test('go round the accounts, live mode before test mode, behind work without an account [D14.387]', async () => {
    const { order, times, leave } = open(1);
    times(1, 'first', c);
    times(2, 'a test', aTest);
    times(3, 'a', a);
    times(2, 'b', b);
    times(1, '-', null);
    asOwnWork(() => times(1, 'own', aTest));
    const scopes = [c, null, a, b] as const;
    for (const scope of scopes) await leave(scope);
    await asOwnWork(() => leave(aTest));
    for (const scope of [a, b, a, aTest, aTest]) await leave(scope);
    expect(order).toEqual(['first', '-', 'a', 'b', 'own', 'a', 'b', 'a', 'a test', 'a test']);
  });

  test('share connections between accounts and work without an account that never stops waiting [D14.387]', async () => {
    const { order, times, leave } = open(10);
    times(10, '-', null);
    times(20, 'more', null);
    times(6, 'a', a);
    times(6, 'a test', aTest);
    order.splice(0);
    for (let at = 0; at < 9; at++) await leave(null);
    expect(order.splice(0)).toEqual(['a', 'a test', 'a', 'a', 'a', 'more', 'more', 'more', 'more']);
    // Work without an account holds half, and gets each connection that it gives back.
    await leave(a);
    await leave(null);
    expect(order).toEqual(['a', 'more']);
  });

  test('let a readiness check read before all accounts, and beside work without an account [D14.242, D14.387]', async () => {
    const readiness = { accountId: readinessAccountId, testMode: true };
    const { order, times, leave } = open(2);
    times(2, 'first', null);
    times(3, 'a', a);
    times(2, '-', null);
    times(1, 'readiness', readiness);
    for (const scope of [null, null, null, readiness]) await leave(scope);
    expect(order.slice(2, 4)).toContain('readiness');
  });

  test('do not hold back the only account of a small pool [D14.387]', () => {
    const { turns, order, times } = open(4);
    times(4, 'a', a);
    expect([order.length, turns.waiting]).toEqual([4, 0]);
  });
});
