import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { expectWaitingWork } from '../src/expect-waiting-work.ts';
import { dumpSchema, type MigrateOptions, migrate } from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';

let on: TestDatabase;
let directory: string;
let schema: string;
let count = 0;

beforeAll(async () => {
  on = await testDatabase();
});
afterAll(() => on.drop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'eligo-migrations-'));
  schema = `made_${++count}`;
  await on.admin(`create schema ${schema} authorization eligo_owner`);
});
afterEach(() => rm(directory, { recursive: true }));

async function files(texts: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(texts)) await writeFile(join(directory, name), text);
}

function run(options: Partial<MigrateOptions> = {}) {
  return migrate({
    url: on.adminUrl,
    owner: 'eligo_owner',
    schema,
    role: 'eligo_alpha',
    sources: [{ name: 'made', directory }],
    ...options,
  });
}

test('files are applied in the order of their names, once, and the second run does nothing', async () => {
  await files({
    '0002_b.sql': 'alter table a add column y int;',
    '0001_a.sql': 'create table a (x int);',
    'readme.txt': 'no',
  });
  expect(await run()).toEqual({ applied: ['made/0001_a.sql', 'made/0002_b.sql'], ahead: [] });
  expect(await run()).toEqual({ applied: [], ahead: [] });
  await files({ '0003_c.sql': 'alter table a add column z int;' });
  expect((await run()).applied).toEqual(['made/0003_c.sql']);
});

test('several at once apply each file once', async () => {
  await files({
    '0001_a.sql': 'create table a (x int); select pg_sleep(0.2);',
    '0002_b.sql': 'create table b (x int);',
  });
  const results = await Promise.all(Array.from({ length: 4 }, () => run()));
  expect(results.flatMap(({ applied }) => applied).toSorted()).toEqual(['made/0001_a.sql', 'made/0002_b.sql']);
});

test('a file that fails leaves nothing behind and stops those after it', async () => {
  await files({
    '0001_a.sql': 'create table a (x int);',
    '0002_b.sql': 'create table b (x int); select 1 / 0;',
    '0003_c.sql': 'create table c (x int);',
  });
  await expect(run()).rejects.toThrow('made/0002_b.sql: division by zero');
  const tables = await on.admin("select tablename from pg_tables where schemaname = $1 and tablename <> 'migrations'", [
    schema,
  ]);
  expect(tables).toEqual([{ tablename: 'a' }]);
  await files({ '0002_b.sql': 'create table b (x int);' });
  expect((await run()).applied).toEqual(['made/0002_b.sql', 'made/0003_c.sql']);
});

test('a file that changed after it was applied is refused', async () => {
  await files({ '0001_a.sql': 'create table a (x int);' });
  await run();
  await files({ '0001_a.sql': 'create table a (x bigint);' });
  await expect(run()).rejects.toThrow('made/0001_a.sql has changed since it was applied');
});

test('a file that would come before one that is applied is refused', async () => {
  await files({ '0002_b.sql': 'create table b (x int);' });
  await run();
  await files({ '0001_a.sql': 'create table a (x int);' });
  await expect(run()).rejects.toThrow('made/0001_a.sql sorts before made/0002_b.sql');
});

test('an older release beside a newer schema applies nothing and says what it does not know', async () => {
  await files({ '0001_a.sql': 'create table a (x int);', '0002_b.sql': 'create table b (x int);' });
  await run();
  await rm(join(directory, '0002_b.sql'));
  expect(await run()).toEqual({ applied: [], ahead: ['made/0002_b.sql'] });
});

test('an index is created concurrently outside a transaction, also after an attempt that died', async () => {
  await files({ '0001_a.sql': 'create table a (x int);' });
  await run();
  await on.admin(`insert into ${schema}.a values (1), (1)`);
  await files({
    '0002_index.sql':
      '-- eligo: no-transaction\ncreate unique index concurrently a_x on a (x);\ncreate index concurrently a_y on a (x);\n',
  });
  await expect(run()).rejects.toThrow('could not create unique index');
  await on.admin(`delete from ${schema}.a`);
  expect((await run()).applied).toEqual(['made/0002_index.sql']);
  const invalid = await on.admin('select 1 from pg_index where not indisvalid and indrelid = $1::regclass', [
    `${schema}.a`,
  ]);
  expect(invalid).toEqual([]);
});

const noTransaction = '-- eligo: no-transaction\n';

/** A connection that holds a table's exclusive lock until it rolls back. */
async function locked(table: string): Promise<pg.Client> {
  const holder = new pg.Client(on.adminUrl);
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query(`begin; lock table ${schema}.${table} in access exclusive mode`);
  return holder;
}

const indexes = () =>
  on.admin(
    `select c.relname as name, c.oid from pg_index i join pg_class c on c.oid = i.indexrelid
      where c.relnamespace = to_regnamespace($1) and c.relname <> 'migrations_pkey' and i.indisvalid order by 1`,
    [schema],
  );

test('a file outside a transaction goes on after the index that it built before its next statement timed out', async () => {
  await files({ '0001_a.sql': 'create table a (x int); create table b (x int);' });
  await run();
  await files({
    '0002_index.sql': `${noTransaction}create index concurrently a_x on ${schema}.a (x);
      -- The second one.
      create unique index concurrently b_x on :"schema".b
        (x) where x > 0;`,
  });
  const holder = await locked('b');
  await expect(run({ lockTimeoutMs: 100, lockAttempts: 2 })).rejects.toThrow(
    'made/0002_index.sql: canceling statement due to lock timeout',
  );
  const [built] = await indexes();
  expect(built?.name).toBe('a_x');
  await holder.query('rollback');
  expect((await run()).applied).toEqual(['made/0002_index.sql']);
  expect(await indexes()).toEqual([built, expect.objectContaining({ name: 'b_x' })]);
});

test('a file outside a transaction whose process died before the record is completed by the next run, drops too', async () => {
  await files({ '0001_a.sql': 'create table a (x int); create index old_x on a (x); create index "Old" on a (x);' });
  await run();
  const text = `create index concurrently "New" on a (x); drop index concurrently ${schema}.old_x; drop index concurrently "Old"`;
  await files({ '0002_index.sql': noTransaction + text });
  for (const statement of text.replace('on a', `on ${schema}.a`).replace(' "Old"', ` ${schema}."Old"`).split(';')) {
    await on.admin(statement);
  }
  const before = await indexes();
  expect(before.map(({ name }) => name)).toEqual(['New']);
  expect((await run()).applied).toEqual(['made/0002_index.sql']);
  expect(await indexes()).toEqual(before);
});

test('an index of the same name in another schema, on another table or of another kind stands for nothing', async () => {
  await files({ '0001_a.sql': 'create table a (x int); create table b (x int);' });
  await run();
  const first = schema;
  await on.admin(`create index taken on ${first}.b (x)`);
  schema = `${first}_other`;
  await on.admin(`create schema ${schema} authorization eligo_owner`);
  await files({ '0002_index.sql': `${noTransaction}create index concurrently taken on a (x);` });
  expect((await run()).applied).toEqual(['made/0001_a.sql', 'made/0002_index.sql']);
  expect((await indexes()).map(({ name }) => name)).toEqual(['taken']);
  schema = first;
  await expect(run()).rejects.toThrow('relation "taken" already exists');
  await files({ '0002_index.sql': `${noTransaction}create unique index concurrently taken on b (x);` });
  await expect(run()).rejects.toThrow('relation "taken" already exists');
});

test('who waits for a table lets the queries behind it pass, and tries again', async () => {
  await files({ '0001_a.sql': 'create table a (x int);' });
  await run();
  const reader = new pg.Client(on.adminUrl);
  await reader.connect();
  await reader.query(`begin; select * from ${schema}.a`);
  await files({ '0002_b.sql': 'alter table a add column y int;' });
  const migrating = run({ lockTimeoutMs: 100, lockAttempts: 50 });
  await expect
    .poll(
      async () =>
        (
          await on.admin("select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'", [
            `migrate ${schema}`,
          ])
        ).length,
    )
    .toBe(1);
  // Behind the waiting exclusive lock this would wait as well, if that waited for long.
  await on.admin(`select * from ${schema}.a`);
  await reader.query('commit');
  expect((await migrating).applied).toEqual(['made/0002_b.sql']);
  await reader.end();
});

test('tries again when a deadlock with a running query has ended it', async () => {
  await files({ '0001_a.sql': 'create table a (x int); create table b (x int);' });
  await run();
  const writer = new pg.Client(on.adminUrl);
  await writer.connect();
  // The other one looks for the deadlock first.
  await writer.query("set deadlock_timeout = '1 h'");
  await writer.query(`begin; insert into ${schema}.b values (1)`);
  await files({ '0002_c.sql': 'alter table a add column y int; alter table b add column y int;' });
  const migrating = run({ lockTimeoutMs: 30_000, lockAttempts: 3 });
  const waits = "select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
  await waitUntil(async () => (await on.admin(waits, [`migrate ${schema}`])).length === 1);
  await writer.query(`insert into ${schema}.a values (1); commit`);
  expect((await migrating).applied).toEqual(['made/0002_c.sql']);
  await writer.end();
});

test('gives up when it does not get its lock', async () => {
  await files({ '0001_a.sql': 'create table a (x int);' });
  await run();
  const reader = new pg.Client(on.adminUrl);
  await reader.connect();
  await reader.query(`begin; select * from ${schema}.a`);
  await files({ '0002_b.sql': 'alter table a add column y int;' });
  await expect(run({ lockTimeoutMs: 20, lockAttempts: 2 })).rejects.toThrow('lock timeout');
  await reader.end();
});

test('the names of schema and role stand for themselves, and what is made belongs to the owner', async () => {
  await files({
    '0001_a.sql': `create table a (x int);
      create function f() returns int language sql set search_path = :"schema" as 'select 1';
      revoke delete on a from :"role";`,
  });
  await run();
  const text = await dumpSchema(on.adminUrl, schema);
  expect(text).toContain('grant insert, select, update on a to eligo_alpha;');
  expect(text).toContain('grant execute on function f() to eligo_alpha;');
  expect(text).not.toContain('public');
  expect(
    await on.admin('select tableowner from pg_tables where schemaname = $1 and tablename = $2', [schema, 'a']),
  ).toEqual([{ tableowner: 'eligo_owner' }]);
});

test('the dump of a schema does not depend on the order in which it came to be', async () => {
  const policy = 'create policy p on a for select to eligo_finder using (x > 0);';
  await files({
    '0001_a.sql': `create table b (y text collate "C" default 'z'); create table a (x int not null, s numeric(4,2), constraint low check (x > 0), constraint two unique (x)); alter table a enable row level security; ${policy}`,
    '0002_b.sql': `create index a_s on a (s) where s is not null; create index a_r on a (s, x); comment on index a_s is 'Unused.';`,
  });
  await run();
  const first = await dumpSchema(on.adminUrl, schema);
  expect(first).toContain(
    '  x integer not null,\n  s numeric(4,2),\n  constraint two UNIQUE (x),\n  constraint low CHECK ((x > 0))',
  );
  expect(first).toContain(
    'alter table a enable row level security;\ncreate policy p on a for select to eligo_finder\n  using ((x > 0));',
  );
  expect(first).toContain("WHERE (s IS NOT NULL);\ncomment on index a_s is 'Unused.';\n");
  const other = `${schema}_other`;
  await on.admin(`create schema ${other} authorization eligo_owner`);
  await files({
    '0001_a.sql': `create table a (x int not null, s numeric(4,2), constraint low check (x > 0), constraint two unique (x)); ${policy}`,
    '0002_b.sql': `create index a_r on a (s, x); create index a_s on a (s) where s is not null; comment on index a_s is 'Unused.'; create table b (y text collate "C" default 'z'); alter table a enable row level security;`,
  });
  await run({ schema: other });
  expect((await dumpSchema(on.adminUrl, other)).replaceAll(other, schema)).toBe(first);
});

test('the planner expects a large account in every table under row-level security, before and after its first statistics', async () => {
  const table = (name: string) =>
    `create table ${name} (account_id text primary key, x int); alter table ${name} enable row level security;`;
  await files({ '0001_a.sql': `${table('empty')} ${table('older')} create table outside (account_id text);` });
  await run();
  // An installation that was made before.
  await on.admin(`alter table ${schema}.older alter column account_id reset (n_distinct)`);
  await on.admin(`insert into ${schema}.older select n, n from generate_series(1, 1000) n`);
  await on.admin(`analyze ${schema}.older`);
  const expected = () =>
    on.admin(
      `select c.relname as name, a.attoptions::text as option, s.n_distinct, c.reltuples >= 0 as analyzed
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
         left join pg_stats s on s.schemaname = $1 and s.tablename = c.relname and s.attname = 'account_id'
        where c.relnamespace = $1::regnamespace and c.relkind = 'r' order by c.relname`,
      [schema],
    );
  const outside = { name: 'outside', option: null, n_distinct: null, analyzed: false };
  const empty = { name: 'empty', option: '{n_distinct=4}', n_distinct: 1, analyzed: false };
  expect(await expected()).toEqual([empty, { name: 'older', option: null, n_distinct: -1, analyzed: true }, outside]);
  await run();
  expect(await expected()).toEqual([
    empty,
    { name: 'older', option: '{n_distinct=4}', n_distinct: 4, analyzed: true },
    outside,
  ]);
});

test('the planner expects that many rows have work in a column that is not analyzed, before and after its table is', async () => {
  await files({ '0001_a.sql': 'create table work (id int primary key, state text not null, at timestamptz);' });
  await run();
  // All rows are done, as in an installation that was made before.
  await on.admin(`insert into ${schema}.work select n, 'done' from generate_series(1, 1000) n`);
  await on.admin(`analyze ${schema}.work`);
  const known = () =>
    on.admin(
      `select attname as name, n_distinct, null_frac, most_common_vals::text as values from pg_stats where schemaname = $1 order by attname`,
      [schema],
    );
  const id = { name: 'id', n_distinct: -1, null_frac: 0, values: null };
  expect(await known()).toEqual([
    { name: 'at', n_distinct: 0, null_frac: 1, values: null },
    id,
    { name: 'state', n_distinct: 1, null_frac: 0, values: '{done}' },
  ]);
  await files({
    '0002_b.sql': 'alter table work alter column state set statistics 0, alter column at set statistics 0;',
  });
  await run();
  const after = [
    { name: 'at', n_distinct: 4, null_frac: 0.5, values: null },
    id,
    { name: 'state', n_distinct: 4, null_frac: 0, values: null },
  ];
  expect(await known()).toEqual(after);
  await on.admin(`analyze ${schema}.work`);
  await run();
  expect(await known()).toEqual(after);
  // A restore of a dump without statistics.
  await on.admin(`delete from pg_statistic where starelid = '${schema}.work'::regclass`);
  await on.admin(`analyze ${schema}.work`);
  expect(await known()).toEqual([id]);
  await run();
  expect(await known()).toEqual(after);
});

test('a table that another session holds keeps the statistics of its columns, and a migration goes on', async () => {
  await files({
    '0001_a.sql': 'create table work (state text not null); alter table work alter column state set statistics 0;',
  });
  await run();
  const client = new pg.Client({ connectionString: on.adminUrl });
  await client.connect();
  onTestFinished(() => client.end());
  // As a vacuum does.
  await client.query(`begin; lock table ${schema}.work in share update exclusive mode`);
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  expect(await run({ lockTimeoutMs: 20 })).toEqual({ applied: [], ahead: [] });
  expect(warned).toHaveBeenCalledWith(`migrating ${schema}: work is locked, so that work.state keeps its statistics`);
});

test('a column whose statistics Postgres refuses is not marked as one that has them, and a warning says so', async () => {
  await on.admin(`create table ${schema}.work (state text not null)`);
  await on.admin(`alter table ${schema}.work alter column state set statistics 0`);
  const client = new pg.Client({ connectionString: on.adminUrl });
  await client.connect();
  onTestFinished(() => client.end());
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  const marked = async () =>
    (
      await on.admin(
        `select attoptions from pg_attribute where attrelid = '${schema}.work'::regclass and attname = 'state'`,
      )
    )[0]?.attoptions;
  // An argument that Postgres does not know, as a later version may not know one of these.
  const refused = {
    escapeIdentifier: client.escapeIdentifier.bind(client),
    query: (text: string, values?: unknown[]) =>
      client.query(text.replace("'avg_width', 8", "'avg_width', 'eight'::text"), values),
  };
  await expectWaitingWork(refused as unknown as pg.Client, schema);
  expect(warned).toHaveBeenCalledWith(`migrating ${schema}: Postgres refused statistics of work.state`);
  expect(await marked()).toBe(null);
  await expectWaitingWork(client, schema);
  expect(await marked()).toEqual(['n_distinct=4']);
});
