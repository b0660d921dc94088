import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommitUnknown, translateError } from '../src/errors.ts';
import {
  type Database,
  declaredStatements,
  openDatabase,
  openSession,
  scoped,
  scopedTable,
  sqlBuilder,
  unscoped,
  withTx,
} from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';

const scope = { accountId: 'facct_a', testMode: true };
const insert = scoped(
  'd.insert',
  'insert into things (account_id, test_mode, thing_id, amount) values ($1, $2, $3, $4)',
);
const get = scoped<{ thing_id: string; amount: bigint }>(
  'd.get',
  'select thing_id, amount from things where account_id = $1 and test_mode = $2 and thing_id = $3',
);
const list = scoped<{ thing_id: string }>(
  'd.list',
  'select thing_id from things where account_id = $1 and test_mode = $2 order by thing_id desc limit $3',
);

let on: TestDatabase;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
  await withTx(database, scope, (tx) =>
    Promise.all(Array.from({ length: 20 }, (_, i) => tx.execute(insert, scope, [`t${String(i).padStart(2, '0')}`, i]))),
  );
});
afterAll(() => on.drop());

describe('a scoped read', () => {
  test('is one statement on one connection and keeps the order of its text', async () => {
    expect(await database.row(get, scope, ['t03'])).toEqual({ thing_id: 't03', amount: 3n });
    expect(await database.row(get, scope, ['zz'])).toBeUndefined();
    expect((await database.rows(list, scope, [3])).map(({ thing_id }) => thing_id)).toEqual(['t19', 't18', 't17']);
  });

  test('leaves no context behind on its connection', async () => {
    const single = on.open('alpha', { max: 1 });
    await single.row(get, scope, ['t03']);
    const everything = unscoped<{ n: bigint }>('d.everything', 'select count(*) as n from things');
    expect(await single.row(everything, null)).toEqual({ n: 0n });
  });

  test('uses the primary key', async () => {
    const client = await openSession(database, 'explain');
    // The table is so small that the planner may read it whole.
    await client.query('set enable_seqscan = off');
    await client.query('set enable_bitmapscan = off');
    await client.query(`prepare probe(text, text, text) as ${get.read?.text}`);
    const plan = await client.query<{ 'QUERY PLAN': string }>(`explain execute probe('facct_a', 'true', 't03')`);
    await client.close();
    const text = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('Index Scan using things_pkey');
    expect(text).toMatch(/Index Cond: .*account_id.*test_mode.*thing_id/);
  });

  test('that returns more rows than one throws where one is asked for', async () => {
    await expect(database.row(list, scope, [2])).rejects.toThrow('2 rows');
  });

  test('must name account and mode in its text', () => {
    expect(() => scoped('x', 'select 1 from things where account_id = $1')).toThrow('$2');
    expect(() => scoped('x', 'select 1 from things where thing_id = $3 and n = $10 and m = $20')).toThrow('$1');
  });
});

test('every statement is known', () => {
  expect(declaredStatements()).toEqual(expect.arrayContaining([get, list, insert]));
});

describe('a scoped write', () => {
  test('needs a transaction', async () => {
    await expect(database.execute(insert, scope, ['x', 1])).rejects.toThrow('needs a transaction');
  });
});

describe('a built query', () => {
  test('is scoped in one statement', async () => {
    const query = scopedTable(scope, 'things').where('amount', '>', 17).orderBy('thing_id').select('thing_id');
    // The third time it runs as a prepared statement.
    for (let i = 0; i < 3; i++) {
      expect(await database.query(scope, query)).toEqual([{ thing_id: 't18' }, { thing_id: 't19' }]);
    }
    expect(await withTx(database, scope, (tx) => tx.query(scope, query))).toHaveLength(2);
  });

  test('sees nothing of others even if it forgets to ask for its own', async () => {
    const forgetful = sqlBuilder('things').select('thing_id');
    expect(await database.query(scope, forgetful)).toHaveLength(20);
    expect(await database.query({ accountId: 'facct_b', testMode: true }, forgetful)).toEqual([]);
    expect(await database.query(null, forgetful)).toEqual([]);
  });
});

describe('values', () => {
  test('int8 is a bigint, numeric a string, timestamptz a Date, date its text', async () => {
    const values = unscoped<Record<string, unknown>>(
      'd.values',
      `select 9007199254740993::bigint as big, array[1, null, 9223372036854775807]::bigint[] as bigs, 1.10::numeric as exact,
              '2026-03-29T01:30:00.123Z'::timestamptz(3) as at, '2026-03-29'::date as day, count(*) as n, 'x'::text as t, true as b,
              '{"a": 1}'::jsonb as j from (select 1) s`,
    );
    expect(await database.row(values, null)).toEqual({
      big: 9007199254740993n,
      bigs: [1n, null, 9223372036854775807n],
      exact: '1.10',
      at: new Date('2026-03-29T01:30:00.123Z'),
      day: '2026-03-29',
      n: 1n,
      t: 'x',
      b: true,
      j: { a: 1 },
    });
  });
});

describe('the pool', () => {
  test('survives that an idle connection is killed', async () => {
    const reported: string[] = [];
    const own = on.open('alpha', {
      max: 1,
      onError: (_, where) => reported.push(where),
      applicationName: 'to be killed',
    });
    await own.ping();
    await on.admin(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'to be killed'",
    );
    await expect.poll(() => reported.length).toBeGreaterThan(0);
    await own.ping();
  });

  test('a statement that takes too long is ended by the server and is 503', async () => {
    const hasty = on.open('alpha', { statementTimeoutMs: 50 });
    await expect(hasty.row(unscoped('d.sleep', 'select pg_sleep(5)'), null)).rejects.toMatchObject({
      code: 'service_unavailable',
      status: 503,
    });
  });

  test('a server that is not there is 503', async () => {
    const nowhere = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'x' });
    await expect(nowhere.ping()).rejects.toMatchObject({ code: 'service_unavailable' });
    await nowhere.close();
  });

  test('says how full it is', async () => {
    const own = on.open('alpha', { max: 3 });
    await own.ping();
    expect(own.stats()).toEqual({ total: 1, idle: 1, waiting: 0, max: 3 });
  });
});

describe('a session', () => {
  test('reports notifications and its end', async () => {
    const heard: string[] = [];
    const session = await openSession(database, 'listening', (channel, payload) => heard.push(`${channel} ${payload}`));
    await session.query('listen news');
    await on.admin("select pg_notify('news', 'hello')");
    await expect.poll(() => heard).toEqual(['news hello']);
    await on.admin("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listening'");
    await session.closed;
    await expect(session.query('select 1')).rejects.toThrow();
  });
});

test.each([
  'ECONNRESET',
  'EPIPE',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENETUNREACH',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_STREAM_DESTROYED',
  'ERR_SOCKET_CLOSED',
])('a connection that ends or cannot be made (%s) is 503 with a time to retry', (code) => {
  const error = Object.assign(new Error('write after end'), { code });
  const refusal = { code: 'service_unavailable', retryAfterSeconds: 1 };
  expect(translateError(error)).toMatchObject(refusal);
  expect(translateError(new CommitUnknown(error))).toMatchObject(refusal);
  const bug = Object.assign(new Error('write after end'), { code: 'ERR_INVALID_ARG_TYPE' });
  expect(translateError(bug)).toBe(bug);
});

test.each(['53100', '53200', '57P01', '57P02', '57P03'])(
  'a server without disk or memory, or one that stops (%s), is 503 with a time to retry [D14.137]',
  async (code) => {
    const raise = `do $$ begin raise exception using errcode = '${code}'; end $$`;
    const failing = unscoped(`d.raise_${code}`, raise);
    const refusal = { code: 'service_unavailable', retryAfterSeconds: 1 };
    await expect(database.execute(failing, null)).rejects.toMatchObject(refusal);
    await expect(withTx(database, null, (tx) => tx.execute(failing, null))).rejects.toMatchObject(refusal);
  },
);
