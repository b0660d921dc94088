import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { provisionRoles, scoped, unscoped, withTx } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';

const mine = { accountId: 'facct_a', testMode: true };
const insert = scoped('i.insert', 'insert into things (account_id, test_mode, thing_id) values ($1, $2, $3)');
const all = unscoped<{ thing_id: string }>('i.all', 'select thing_id from things');
// In the context of the transaction, whatever the text asks for.
const others = unscoped<{ thing_id: string }>('i.others', "select thing_id from things where account_id = 'facct_b'");
const plant = unscoped(
  'i.plant',
  "insert into things (account_id, test_mode, thing_id) values ('facct_b', true, 'planted')",
);
const move = unscoped('i.move', "update things set account_id = 'facct_b'");

let on: TestDatabase;

beforeAll(async () => {
  on = await testDatabase();
  const database = on.open();
  for (const scope of [mine, { accountId: 'facct_a', testMode: false }, { accountId: 'facct_b', testMode: true }]) {
    await withTx(database, scope, (tx) => tx.execute(insert, scope, [`${scope.accountId}_${scope.testMode}`]));
  }
});
afterAll(() => on.drop());

async function asRole(service: string, text: string): Promise<unknown> {
  const client = new pg.Client(on.urlOf(service));
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('one service against another', () => {
  test.each([
    'select * from alpha.things',
    'insert into alpha.things (account_id, test_mode, thing_id) values (1, true, 1)',
    'select alpha.prune_idempotency_keys(1)',
    'create table alpha.mine (x int)',
    'set role eligo_alpha',
    'set role eligo_owner',
    'set role eligo_finder',
  ])('its role may not: %s', async (text) => {
    await expect(asRole('beta', text)).rejects.toMatchObject({ code: '42501' });
  });

  test('the owner of a schema can do all of these, so that it is the role that is refused', async () => {
    expect(await asRole('alpha', 'select alpha.prune_idempotency_keys(1)')).toEqual([{ prune_idempotency_keys: '0' }]);
    expect(await asRole('alpha', 'select count(*)::int as n from alpha.things')).toEqual([{ n: 0 }]);
  });

  test.each([
    'create table things2 (x int)',
    'create table public.x (x int)',
    'alter table things add column x int',
    'alter table things disable row level security',
    'drop policy scope on things',
    'truncate things',
    "insert into migrations (id, checksum) values ('x', 'y')",
    'create role eligo_x',
    'create temporary table x (y int)',
  ])('a role may not change its own schema: %s', async (text) => {
    await expect(asRole('alpha', text)).rejects.toMatchObject({ code: '42501' });
  });

  test('roles are neither superusers nor above row-level security', async () => {
    const roles = await on.admin(
      "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin from pg_roles where rolname in ('eligo_alpha', 'eligo_owner', 'eligo_finder') order by 1",
    );
    const plain = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false };
    expect(roles).toEqual([
      { rolname: 'eligo_alpha', ...plain, rolcanlogin: true },
      { rolname: 'eligo_finder', ...plain, rolcanlogin: false },
      { rolname: 'eligo_owner', ...plain, rolcanlogin: true },
    ]);
  });
});

describe('one account or mode against another', () => {
  test('without a context there are no rows, also after one has been used on the connection', async () => {
    const single = on.open('alpha', { max: 1 });
    expect(await single.rows(all, null)).toEqual([]);
    await withTx(single, mine, async () => undefined);
    expect(await single.rows(all, null)).toEqual([]);
  });

  test('only rows of the account and mode are seen, whatever the statement asks for [GEN-1, D2.5]', async () => {
    const database = on.open();
    expect(await withTx(database, mine, (tx) => tx.rows(all, null))).toEqual([{ thing_id: 'facct_a_true' }]);
    expect(await withTx(database, mine, (tx) => tx.rows(others, null))).toEqual([]);
  });

  test('rows of another cannot be written nor moved', async () => {
    const database = on.open();
    await expect(withTx(database, mine, (tx) => tx.execute(plant, null))).rejects.toMatchObject({ code: '42501' });
    await expect(withTx(database, mine, (tx) => tx.execute(move, null))).rejects.toMatchObject({ code: '42501' });
  });

  test('row-level security holds for the owner too', async () => {
    const rows = await on.admin(
      `select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = 'alpha' and c.relkind = 'r' and not (c.relrowsecurity and c.relforcerowsecurity)`,
    );
    expect(rows).toEqual([{ relname: 'migrations' }]);
  });
});

test('roles can be provided for again, and by several at once', async () => {
  const again = () =>
    provisionRoles({ adminUrl: on.adminUrl, services: ['alpha', 'beta'], passwords: { alpha: 'alpha', beta: 'beta' } });
  const urls = await Promise.all([again(), again(), again(), again()]);
  expect(new Set(urls.map(({ services }) => services.alpha)).size).toBe(1);
  expect(await on.open().rows(all, null)).toEqual([]);
});
