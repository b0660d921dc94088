import { openDatabase, unscoped } from '@eligo/postgres';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listOperatorActions, type RecordedAction, recordOperatorAction } from '../src/index.ts';
import { serviceDatabase } from './support.ts';

let place: Awaited<ReturnType<typeof serviceDatabase>>;
let database: ReturnType<typeof openDatabase>;
let superuser: pg.Client;
beforeAll(async () => {
  place = await serviceDatabase('catalog');
  database = openDatabase({ url: place.url, applicationName: 'test', schema: 'catalog', onError: () => undefined });
  const admin = new URL(process.env.ELIGO_TEST_POSTGRES_URL ?? '');
  admin.pathname = new URL(place.url).pathname;
  superuser = new pg.Client({ connectionString: admin.href });
  await superuser.connect();
});
afterAll(async () => {
  await superuser.end();
  await database.close();
  await place.drop();
});

// The statistics of this connection are those of others at once.
const flush = unscoped('test.flush', 'select pg_stat_force_next_flush()');

const ada: RecordedAction = {
  ...{ operator: { id: 'foper_1', name: 'Ada' }, loginId: 'login_1', action: 'catalog.GetPrice' },
  ...{ scope: { accountId: 'facct_1', testMode: false }, subjectId: 'fprice_1', requestId: 'req_1' },
};
const user: RecordedAction = {
  ...{ operator: { name: 'user root' }, loginId: undefined, action: 'keys create' },
  ...{ scope: undefined, subjectId: undefined, requestId: 'req_2' },
};

test('an action is a row with who, when, what, whose and the request id, newest first [D14.197]', async () => {
  const before = Date.now();
  await recordOperatorAction(database, ada);
  await recordOperatorAction(database, user);
  const rows = await listOperatorActions(database, { most: 10 });
  expect(rows).toEqual([
    {
      ...{ at: expect.any(Date), operator_id: null, operator_name: 'user root', login_id: null, action: 'keys create' },
      ...{ account_id: null, test_mode: null, subject_id: null, request_id: 'req_2', refused: false },
    },
    {
      ...{ at: expect.any(Date), operator_id: 'foper_1', operator_name: 'Ada', login_id: 'login_1' },
      ...{ action: 'catalog.GetPrice', account_id: 'facct_1', test_mode: false },
      ...{ subject_id: 'fprice_1', request_id: 'req_1', refused: false },
    },
  ]);
  expect(Math.abs((rows[0]?.at.getTime() ?? 0) - before)).toBeLessThan(60_000);
  expect(await listOperatorActions(database, { most: 1 })).toHaveLength(1);
  expect(await listOperatorActions(database, { most: 9, operatorName: 'Ada' })).toEqual([rows[1]]);
  expect(await listOperatorActions(database, { most: 9, accountId: 'facct_1' })).toEqual([rows[1]]);
});

test('the actions on one account, and of one operator, are found without reading the log [D14.197]', async () => {
  await recordOperatorAction(database, {
    ...ada,
    operator: { id: 'foper_9', name: 'Rare' },
    scope: { accountId: 'facct_rare', testMode: true },
  });
  await superuser.query(`insert into catalog.operator_actions (operator_name, action, account_id, request_id)
    select 'Often', 'catalog.GetPrice', 'facct_often', 'req' from generate_series(1, 5000)`);
  await superuser.query('analyze catalog.operator_actions');
  const rowsRead = async () => {
    await superuser.query('select pg_stat_clear_snapshot()');
    const { rows } = await superuser.query<{ read: string }>(
      `select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
        where schemaname = 'catalog' and relname = 'operator_actions'`,
    );
    return Number(rows[0]?.read);
  };
  for (const filter of [{ accountId: 'facct_rare' }, { operatorName: 'Rare' }]) {
    await database.execute(flush, null, []);
    const before = await rowsRead();
    expect(await listOperatorActions(database, { ...filter, most: 10 })).toHaveLength(1);
    await database.execute(flush, null, []);
    expect((await rowsRead()) - before).toBeLessThan(100);
  }
});

test.each([
  "update catalog.operator_actions set operator_name = 'Eve'",
  'delete from catalog.operator_actions',
  'truncate catalog.operator_actions',
])('not even a superuser changes the audit log: %s [D14.197]', async (text) => {
  await recordOperatorAction(database, ada);
  await expect(superuser.query(text)).rejects.toMatchObject({ constraint: 'operator_actions_append_only' });
});

test('a component cannot choose the time of its rows, or take them back [D14.197]', async () => {
  const component = new pg.Client({ connectionString: place.url });
  await component.connect();
  try {
    const columns = 'operator_name, action, request_id';
    for (const text of [
      `insert into catalog.operator_actions (at, ${columns}) values (now(), 'Eve', 'x.Y', 'req')`,
      `insert into catalog.operator_actions (number, ${columns}) overriding system value values (1, 'Eve', 'x.Y', 'req')`,
      'delete from catalog.operator_actions',
      'alter table catalog.operator_actions disable trigger all',
    ]) {
      await expect(component.query(text)).rejects.toMatchObject({ code: '42501' });
    }
  } finally {
    await component.end();
  }
});
