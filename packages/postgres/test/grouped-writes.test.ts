import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CommitUnknown, type Database, openGroupedWrites, type Scope, type Tx, withTx } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';
import { insert, scope, storedThings } from './things.ts';

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  // No stall of the machine ends a wait that a test counts on.
  database = on.open('alpha', { max: 8, statementTimeoutMs: 60_000, lockTimeoutMs: 30_000 });
});
afterAll(() => on.drop());
beforeEach(() => on.admin('truncate alpha.things'));

const request = new AsyncLocalStorage<string>();
const others = { accountId: 'facct_b', testMode: true };

interface Written {
  readonly how: 'alone' | 'together';
  readonly context: string | undefined;
}

/** Things by their ids, written alone or together; `hold` delays what is written alone until the test lets it go. */
function openThings({ hold = async (_id: string): Promise<void> => undefined, refuse = '' } = {}) {
  const groups: string[][] = [];
  const put = (tx: Tx, of: Scope, id: string) => tx.execute(insert, of, [id, 1]);
  const writes = openGroupedWrites<string, Written>({
    database,
    idOf: (id) => id,
    async writeGroup(tx, of, ids) {
      groups.push([...ids]);
      for (const id of ids) await put(tx, of, id);
      if (ids.includes(refuse)) return undefined;
      return ids.map(() => ({ how: 'together', context: request.getStore() }));
    },
    async writeAlone(of, id) {
      await hold(id);
      await withTx(database, of, (tx) => put(tx, of, id));
      return { how: 'alone', context: request.getStore() };
    },
  });
  return { groups, writes };
}

/** What came in this turn of the event loop has been looked at. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Stops the limits of waiting, 10 and 100 ms, until the end of the test: a slow machine takes as long for what comes before them here. */
function neverTooLate(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** A gate that what is written alone under the id `first` waits for. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, hold: (id: string) => (id === 'first' ? opened : Promise.resolve()) };
}

describe('writes of one account', () => {
  it('that come in one turn of the event loop are written together, the first included, and one that comes alone is written alone', async () => {
    neverTooLate();
    const { groups, writes } = openThings();
    const ids = Array.from({ length: 20 }, (_, at) => `id-${at}`);
    const written = await Promise.all(ids.map((id) => writes.submit(scope, id)));
    expect(written.every(({ how }) => how === 'together')).toBe(true);
    expect(groups).toEqual([ids.slice(0, 16), ids.slice(16)]);
    expect(await writes.submit(scope, 'later')).toMatchObject({ how: 'alone' });
    expect(await storedThings(on)).toEqual([...ids, 'later'].sort());
  });

  it('wait for those that are expected, until these have come or are known not to come', async () => {
    neverTooLate();
    const { groups, writes } = openThings();
    for (const id of ['b', 'c', 'gone']) writes.expect(scope, id);
    writes.expect(others, 'of another account');
    const first = writes.submit(scope, 'a');
    await turn();
    const second = writes.submit(scope, 'b');
    await turn();
    expect(groups).toEqual([]);
    writes.forget(scope, 'gone');
    await turn();
    expect(groups).toEqual([]);
    await Promise.all([first, second, writes.submit(scope, 'c')]);
    expect(groups).toEqual([['a', 'b', 'c']]);
    expect(await writes.submit(scope, 'd')).toMatchObject({ how: 'alone' });
  });

  it('do not wait for what is expected when they are sixteen already', async () => {
    const { groups, writes } = openThings();
    const ids = Array.from({ length: 16 }, (_, at) => `id-${at}`);
    writes.expect(scope, 'late');
    const written = ids.map((id) => writes.submit(scope, id));
    await turn();
    await turn();
    expect(groups).toEqual([ids]);
    await Promise.all(written);
  });

  it('are written without what is expected and does not come', async () => {
    const { groups, writes } = openThings();
    writes.expect(scope, 'late');
    const written = await Promise.all(['a', 'b'].map((id) => writes.submit(scope, id)));
    expect(written.every(({ how }) => how === 'together')).toBe(true);
    expect(await writes.submit(scope, 'late')).toMatchObject({ how: 'alone' });
    expect(groups).toEqual([['a', 'b']]);
  });

  it('are written alone when they come one after the other', async () => {
    const { groups, writes } = openThings();
    for (const id of ['a', 'b']) expect(await writes.submit(scope, id)).toMatchObject({ how: 'alone' });
    expect(groups).toEqual([]);
    expect(await storedThings(on)).toEqual(['a', 'b']);
  });

  it('are groups of one where there is no other way, in the context of their request', async () => {
    const writes = openGroupedWrites<string, string | undefined>({
      database,
      async writeGroup(tx, of, ids) {
        for (const id of ids) await tx.execute(insert, of, [id, 1]);
        return ids.map((id) => `${id} of ${request.getStore()}`);
      },
    });
    expect(await request.run('r', () => writes.submit(scope, 'a'))).toBe('a of r');
    expect(await storedThings(on)).toEqual(['a']);
  });

  it('that come during another are committed together, in one transaction', async () => {
    const { open, hold } = gate();
    const { groups, writes } = openThings({ hold });
    const first = writes.submit(scope, 'first');
    await turn();
    const joined = ['a', 'b', 'c'].map((id) => writes.submit(scope, id));
    open();
    expect(await first).toMatchObject({ how: 'alone' });
    for (const written of await Promise.all(joined)) expect(written).toMatchObject({ how: 'together' });
    expect(groups).toEqual([['a', 'b', 'c']]);
    const [{ transactions } = {}] = await on.admin(
      "select count(distinct xmin::text)::int as transactions from alpha.things where thing_id <> 'first'",
    );
    expect(transactions).toBe(1);
  });

  it('are at most sixteen in a transaction', async () => {
    neverTooLate();
    const { open, hold } = gate();
    const { groups, writes } = openThings({ hold });
    const ids = Array.from({ length: 34 }, (_, index) => `t${index}`);
    const first = writes.submit(scope, 'first');
    await turn();
    const all = [first, ...ids.map((id) => writes.submit(scope, id))];
    open();
    await Promise.all(all);
    expect(groups.map(({ length }) => length)).toEqual([16, 16, 2]);
    expect(await storedThings(on)).toHaveLength(35);
  });

  it('are written alone when 256 wait already', async () => {
    neverTooLate();
    const { open, hold } = gate();
    const { groups, writes } = openThings({ hold });
    const ids = Array.from({ length: 256 }, (_, index) => `t${index}`);
    const first = writes.submit(scope, 'first');
    await turn();
    const all = [first, ...ids.map((id) => writes.submit(scope, id))];
    expect(await writes.submit(scope, 'one more')).toMatchObject({ how: 'alone' });
    open();
    await Promise.all(all);
    expect(groups.flat()).toEqual(ids);
    expect(await storedThings(on)).toHaveLength(258);
  });

  it('are written each alone, in the context of its request, when one cannot be written with the others', async () => {
    const { open, hold } = gate();
    const { writes } = openThings({ hold, refuse: 'b' });
    const first = writes.submit(scope, 'first');
    await turn();
    const joined = ['a', 'b', 'c'].map((id) => request.run(`request ${id}`, () => writes.submit(scope, id)));
    open();
    await first;
    expect(await Promise.all(joined)).toEqual(
      ['a', 'b', 'c'].map((id) => ({ how: 'alone', context: `request ${id}` })),
    );
    expect(await storedThings(on)).toEqual(['a', 'b', 'c', 'first']);
  });

  it('do not fail because of one that fails', async () => {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, ['taken', 1]));
    const { open, hold } = gate();
    const { writes } = openThings({ hold });
    const first = writes.submit(scope, 'first');
    await turn();
    const joined = ['a', 'taken', 'c'].map((id) => writes.submit(scope, id));
    open();
    await first;
    const outcomes = await Promise.allSettled(joined);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: '23505' } });
    expect(await storedThings(on)).toEqual(['a', 'c', 'first', 'taken']);
  });

  it('do not wait for a row that another transaction holds: only the one that needs it does', async () => {
    const { open, hold } = gate();
    const { writes } = openThings({ hold });
    const first = writes.submit(scope, 'first');
    await turn();
    const joined = ['a', 'held'].map((id) => writes.submit(scope, id));
    // It may be refused before the transaction below has heard of its own commit.
    const refused = expect(joined[1]).rejects.toMatchObject({ code: '23505' });
    await withTx(database, scope, async (tx) => {
      await tx.execute(insert, scope, ['held', 2]);
      open();
      expect(await joined[0]).toMatchObject({ how: 'alone' });
    });
    await first;
    await refused;
  });

  it('do not wait for one that takes long alone', async () => {
    const { open, hold } = gate();
    const { writes } = openThings({ hold });
    const first = writes.submit(scope, 'first');
    await turn();
    const joined = ['a', 'b'].map((id) => writes.submit(scope, id));
    for (const written of await Promise.all(joined)) expect(written).toMatchObject({ how: 'together' });
    expect(await storedThings(on)).toEqual(['a', 'b']);
    open();
    expect(await first).toMatchObject({ how: 'alone' });
  });

  it('are told all that nobody knows whether they were committed when the answer to COMMIT is lost', async () => {
    await on.admin(`
      create function alpha.hold_commit() returns trigger language plpgsql as $$
        begin perform pg_sleep(30); return null; end $$;
      create constraint trigger hold after insert on alpha.things deferrable initially deferred
        for each row when (new.thing_id = 'slow') execute function alpha.hold_commit()`);
    neverTooLate();
    const { open, hold } = gate();
    const { writes } = openThings({ hold });
    const first = writes.submit(scope, 'first');
    await turn();
    const group = ['slow', ...Array.from({ length: 15 }, (_, index) => `t${index}`)];
    const joined = Promise.allSettled(group.map((id) => writes.submit(scope, id)));
    const waiting = ['a', 'b'].map((id) => writes.submit(scope, id));
    open();
    await first;
    const sleeping = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
    // Not expect.poll, which moves the clock on while timers are fake: after four looks it is too late.
    while ((await on.admin(sleeping)).length === 0);
    await on.admin(`select pg_terminate_backend(pid) from (${sleeping}) held`);
    for (const outcome of await joined) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { cause: expect.any(CommitUnknown) } });
    }
    await on.admin('drop trigger hold on alpha.things; drop function alpha.hold_commit()');
    for (const written of await Promise.all(waiting)) expect(written).toMatchObject({ how: 'alone' });
    expect(await storedThings(on)).toEqual(['a', 'b', 'first']);
    expect(await writes.submit(scope, 'after')).toMatchObject({ how: 'alone' });
  });
});

it('writes of two accounts do not wait for each other', async () => {
  const { open, hold } = gate();
  const { writes } = openThings({ hold });
  const first = writes.submit(scope, 'first');
  expect(await writes.submit(others, 'theirs')).toMatchObject({ how: 'alone' });
  expect(await storedThings(on)).toEqual(['theirs']);
  open();
  await first;
});
