import { Failure } from '@eligo/failures';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  afterCommit,
  afterUnknownCommit,
  CommitRefused,
  CommitUnknown,
  type Database,
  insideTransaction,
  isUniqueViolation,
  refuseInsideTransaction,
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
const sum = scoped<{ sum: bigint }>(
  't.sum',
  'select coalesce(sum(amount), 0)::bigint as sum from things where account_id = $1 and test_mode = $2',
);
const lock = scoped(
  't.lock',
  'select thing_id from things where account_id = $1 and test_mode = $2 and thing_id = $3 for update',
);
const raise = scoped(
  't.raise',
  'update things set amount = amount + 1 where account_id = $1 and test_mode = $2 and thing_id = $3',
);
const broken = unscoped('t.broken', 'select 1 / 0');
const pid = unscoped<{ pid: number }>('t.pid', 'select pg_backend_pid() as pid');
const settings = unscoped<{ account: string | null; lock: string }>(
  't.settings',
  "select current_setting('eligo.account_id', true) as account, current_setting('lock_timeout') as lock",
);

const findAll = scoped<{ thing_id: string }>(
  't.find_all',
  `select t.thing_id from unnest($3::text[]) wanted (id)
   join things t on t.account_id = $1 and t.test_mode = $2 and t.thing_id = wanted.id collate "C"`,
);
const plansOf = unscoped<{ planned: bigint; kept: bigint }>(
  't.plans',
  'select custom_plans as planned, generic_plans as kept from pg_prepared_statements where name = $1',
);

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
});
afterAll(() => on.drop());
beforeEach(() => on.admin('truncate alpha.things'));

/** Ends the backend from outside, as a failing server would, and waits until it is gone. */
async function killBackend(backend: number): Promise<void> {
  await on.admin('select pg_terminate_backend($1, 5000)', [backend]);
}

describe('withTx', () => {
  test('commits what its function did and returns its value', async () => {
    expect(await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5]))).toBe(1);
    expect(await storedThings(on)).toEqual(['a']);
  });

  test('undoes everything when its function throws, and throws the same error', async () => {
    const why = new Error('no');
    const attempt = withTx(database, scope, async (tx) => {
      await tx.execute(insert, scope, ['a', 5]);
      throw why;
    });
    await expect(attempt).rejects.toBe(why);
    expect(await storedThings(on)).toEqual([]);
  });

  test('rejects when a failed statement was swallowed', async () => {
    const attempt = withTx(database, scope, async (tx) => {
      await tx.execute(insert, scope, ['a', 5]);
      await tx.execute(broken, null).catch(() => 'swallowed');
    });
    await expect(attempt).rejects.toThrow(CommitRefused);
    expect(await storedThings(on)).toEqual([]);
  });

  test('fails a statement that was sent behind a failed one with the failure of that one', async () => {
    const own = await withTx(database, scope, (tx) => tx.execute(broken, null)).catch((error: Error) => error.message);
    const attempt = withTx(database, scope, async (tx) => {
      const failed = tx.execute(broken, null);
      const behind = tx.execute(insert, scope, ['a', 5]);
      const [, second] = await Promise.allSettled([failed, behind]);
      throw second.status === 'rejected' ? second.reason : new Error('it was carried out');
    });
    await expect(attempt).rejects.toThrow(String(own));
  });

  test('rejects when a statement was not awaited, and none of it stays', async () => {
    const attempt = withTx(database, scope, async (tx) => {
      void tx.execute(insert, scope, ['a', 5]);
    });
    await expect(attempt).rejects.toThrow('not awaited');
    expect(await storedThings(on)).toEqual([]);
  });

  test('rejects when a deferred constraint refuses COMMIT', async () => {
    const attempt = withTx(database, scope, (tx) => tx.execute(insertChild, scope, ['a', 'nobody']));
    await expect(attempt).rejects.toMatchObject({ code: '23503', constraint: 'things_parent' });
    expect(await storedThings(on)).toEqual([]);
  });

  test('rejects when COMMIT finds the transaction not serializable: write skew', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 1]));
    const outcome = await writeSkew(0);
    expect(outcome.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    expect(outcome.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'lock_timeout' } });
    expect(await storedThings(on)).toHaveLength(2);
  });

  test('runs again after a serialization failure when asked to', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 1]));
    const outcome = await writeSkew(3);
    expect(outcome.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    // The second saw what the first had written.
    expect(await on.admin('select amount::int from alpha.things order by amount')).toEqual([
      { amount: 1 },
      { amount: 1 },
      { amount: 2 },
    ]);
  });

  test('rejects when the backend was killed before COMMIT', async () => {
    const attempt = withTx(database, scope, async (tx) => {
      await tx.execute(insert, scope, ['a', 5]);
      const backend = await tx.row(pid, null);
      await killBackend(backend?.pid ?? 0);
    });
    await expect(attempt).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(await storedThings(on)).toEqual([]);
    expect(await database.row(pid, null)).toBeDefined();
  });

  test('rejects when the backend is killed during COMMIT, and says that the outcome is unknown', async () => {
    // A deferred trigger holds COMMIT until the test has killed the backend.
    await on.admin(`
      create table alpha.gate (open boolean);
      create function alpha.wait_for_gate() returns trigger language plpgsql as $$
        begin perform pg_sleep(30); return null; end $$;
      create constraint trigger hold after insert on alpha.things deferrable initially deferred
        for each row when (new.thing_id = 'held') execute function alpha.wait_for_gate()`);
    const slow = on.open('alpha', { statementTimeoutMs: 60_000 });
    let backend = 0;
    const ran: string[] = [];
    const attempt = withTx(slow, scope, async (tx) => {
      afterCommit(tx, () => void ran.push('committed'));
      afterUnknownCommit(tx, () => void ran.push('unknown'));
      backend = (await tx.row(pid, null))?.pid ?? 0;
      await tx.execute(insert, scope, ['held', 5]);
    });
    const settled = expect(attempt).rejects.toSatisfy(
      (error) =>
        error instanceof Failure && error.code === 'service_unavailable' && error.cause instanceof CommitUnknown,
    );
    await expect
      .poll(
        async () =>
          (await on.admin('select wait_event from pg_stat_activity where pid = $1', [backend]))[0]?.wait_event,
      )
      .toBe('PgSleep');
    await killBackend(backend);
    await settled;
    expect(ran).toEqual(['unknown']);
    expect(await storedThings(on)).toEqual([]);
    await on.admin('drop trigger hold on alpha.things');
  });

  test('a unique violation is identified by the name of its constraint', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5]));
    const error = await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5])).catch((e: unknown) => e);
    expect(isUniqueViolation(error, 'things_pkey')).toBe(true);
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, 'other')).toBe(false);
  });

  test('statements sent together run in their order and fail together', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => `t${String(i).padStart(2, '0')}`);
    await withTx(database, scope, (tx) => Promise.all(ids.map((id) => tx.execute(insert, scope, [id, 1]))));
    expect(await storedThings(on)).toEqual(ids);
    const attempt = withTx(database, scope, (tx) =>
      Promise.all(['u1', 't07', 'u2'].map((id) => tx.execute(insert, scope, [id, 1]))),
    );
    await expect(attempt).rejects.toSatisfy((error) => isUniqueViolation(error, 'things_pkey'));
    expect(await storedThings(on)).toEqual(ids);
  });

  test('refuses to be nested, and a statement beside it', async () => {
    await withTx(database, scope, async () => {
      await expect(withTx(database, scope, async () => undefined)).rejects.toThrow('inside a transaction');
      await expect(database.row(sum, scope)).rejects.toThrow('inside a transaction');
    });
  });

  test('refuses a statement after it has ended', async () => {
    const ended = await withTx(database, scope, async (tx) => tx);
    await expect(ended.row(sum, scope)).rejects.toThrow('has ended');
  });

  test('refuses statements of a different account or mode', async () => {
    const attempt = (other: typeof scope) => withTx(database, scope, (tx) => tx.row(sum, other));
    await expect(attempt({ accountId: 'facct_b', testMode: true })).rejects.toThrow('a different account or mode');
    await expect(attempt({ accountId: 'facct_a', testMode: false })).rejects.toThrow('a different account or mode');
    await expect(withTx(database, null, (tx) => tx.row(sum, scope))).rejects.toThrow('a different account or mode');
  });

  test('leaves neither context nor bounds on the connection', async () => {
    const single = on.open('alpha', { max: 1 });
    const inside = await withTx(single, scope, (tx) => tx.row(settings, null), { lockTimeoutMs: 1_234 });
    expect(inside).toEqual({ account: 'facct_a', lock: '1234ms' });
    expect(await single.row(settings, null)).toEqual({ account: '', lock: '2s' });
  });

  test('plans a statement once, also where the server takes planning for each value for cheaper', async () => {
    const one = on.open('alpha', { max: 1 });
    const runs = 12;
    const ids = Array.from({ length: 500 }, (_, index) => `thing_${index}`);
    await withTx(one, scope, (tx) => Promise.all(ids.map((id) => tx.execute(insert, scope, [id, 1]))));
    await on.admin('analyze alpha.things');
    for (let run = 0; run < runs; run += 1) {
      await withTx(one, scope, (tx) => tx.rows(findAll, scope, [[`thing_${run}`]]));
    }
    expect(await withTx(one, scope, (tx) => tx.row(plansOf, null, [findAll.name]))).toEqual({ planned: 0n, kept: 12n });
    await one.close();
  });
});

describe('a call out of a transaction', () => {
  test('throws inside and not outside', async () => {
    expect(insideTransaction()).toBe(false);
    refuseInsideTransaction();
    await withTx(database, scope, async () => {
      expect(insideTransaction()).toBe(true);
      await Promise.resolve();
      expect(() => refuseInsideTransaction('a call to the processor')).toThrow(
        'a call to the processor inside a transaction',
      );
    });
    expect(insideTransaction()).toBe(false);
  });

  test('does not throw in what the transaction left running, once it has ended', async () => {
    const ended = Promise.withResolvers<void>();
    let later: Promise<boolean> = Promise.resolve(true);
    await withTx(database, scope, async () => {
      later = ended.promise.then(() => insideTransaction());
    });
    ended.resolve();
    expect(await later).toBe(false);
  });
});

describe('an after-commit hook', () => {
  test('runs after the commit, outside the transaction, and not after a rollback', async () => {
    const seen: unknown[] = [];
    await withTx(database, scope, async (tx) => {
      await tx.execute(insert, scope, ['a', 5]);
      afterCommit(tx, async () => void seen.push(insideTransaction(), await storedThings(on)));
      expect(seen).toEqual([]);
    });
    expect(seen).toEqual([false, ['a']]);
    const attempt = withTx(database, scope, async (tx) => {
      afterCommit(tx, () => void seen.push('never'));
      throw new Error('no');
    });
    await expect(attempt).rejects.toThrow('no');
    expect(seen).toHaveLength(2);
  });

  test('that fails is reported and undoes nothing', async () => {
    const reported: unknown[] = [];
    const reporting = on.open('alpha', { onError: (error) => reported.push(error) });
    const why = new Error('hook');
    await withTx(reporting, scope, async (tx) => {
      await tx.execute(insert, scope, ['a', 5]);
      afterCommit(tx, () => {
        throw why;
      });
    });
    expect(reported).toEqual([why]);
    expect(await storedThings(on)).toEqual(['a']);
  });
});

describe('contention', () => {
  test('a lock that is not had in time is 503 lock_timeout', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5]));
    const { held, release } = holdRow('a');
    await held;
    const attempt = withTx(database, scope, (tx) => tx.row(lock, scope, ['a']), { lockTimeoutMs: 50 });
    await expect(attempt).rejects.toMatchObject({ code: 'lock_timeout', status: 503, retryAfterSeconds: 1 });
    await release();
  });

  test('a deadlock is 503 lock_timeout for one and success for the other', async () => {
    await withTx(database, scope, (tx) => Promise.all(['a', 'b'].map((id) => tx.execute(insert, scope, [id, 0]))));
    let arrived = 0;
    let bothHold: () => void = () => undefined;
    const barrier = new Promise<void>((resolve) => {
      bothHold = resolve;
    });
    const cross = (first: string, second: string) =>
      withTx(
        database,
        scope,
        async (tx) => {
          await tx.execute(raise, scope, [first]);
          arrived += 1;
          if (arrived === 2) bothHold();
          await barrier;
          await tx.execute(raise, scope, [second]);
        },
        // The server looks for a deadlock after a second. If it is late, both would run out of the usual two.
        { lockTimeoutMs: 30_000 },
      );
    const outcome = await Promise.allSettled([cross('a', 'b'), cross('b', 'a')]);
    expect(outcome.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(outcome.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'lock_timeout' } });
  });

  test('who gets no connection in time is refused with 503', async () => {
    const narrow = on.open('alpha', { max: 1, connectionWaitMs: 1_500 });
    await expect.poll(() => narrow.ping().then(() => true)).toBe(true);
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['a', 5]));
    let let_go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      let_go = resolve;
    });
    let entered: () => void = () => undefined;
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const holder = withTx(narrow, scope, async () => {
      entered();
      await gate;
    });
    await inside;
    await expect(narrow.row(sum, scope)).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    let_go();
    await holder;
  });

  function holdRow(id: string): { held: Promise<void>; release: () => Promise<void> } {
    let letGo: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let running: Promise<void> = Promise.resolve();
    const held = new Promise<void>((resolve) => {
      running = withTx(database, scope, async (tx) => {
        await tx.row(lock, scope, [id]);
        resolve();
        await gate;
      });
    });
    return {
      held,
      async release() {
        letGo();
        await running;
      },
    };
  }
});

/** Two transactions that each read the sum and write it as a new row: one of them cannot have come after the other. */
function writeSkew(retrySerialization: number): Promise<PromiseSettledResult<void>[]> {
  let readers = 0;
  let bothRead: () => void = () => undefined;
  const barrier = new Promise<void>((resolve) => {
    bothRead = resolve;
  });
  const run = (id: string) =>
    withTx(
      database,
      scope,
      async (tx) => {
        const total = (await tx.row(sum, scope))?.sum ?? 0n;
        readers += 1;
        if (readers === 2) bothRead();
        await barrier;
        await tx.execute(insert, scope, [id, total]);
      },
      { isolation: 'serializable', retrySerialization },
    );
  return Promise.allSettled([run('b'), run('c')]);
}
