import { describe, expect, test } from 'vitest';
import {
  idempotencyMigrations,
  lintMigration,
  lintMigrations,
  parseMigration,
  readMigrations,
  splitStatements,
} from '../src/index.ts';

const lint = (sql: string) =>
  lintMigration(parseMigration('x/0001.sql', sql)).map(({ rule, line }) => `${rule}@${line}`);

describe('the linter finds', () => {
  test.each([
    ['alter table t add column id uuid default gen_random_uuid();', 'volatile-default'],
    ['alter table only s.t add c timestamptz default clock_timestamp();', 'volatile-default'],
    ['alter table t add column id bigserial;', 'volatile-default'],
    ['alter table t add column d int generated always as (a + 1) stored;', 'volatile-default'],
    ['alter table t add column c int not null;', 'required-column'],
    ['alter table t alter column c set not null;', 'set-not-null'],
    ['create index i on t (c);', 'index-locks-table'],
    ['create unique index if not exists i on only t (c);', 'index-locks-table'],
    ['create index concurrently i on t (c);', 'concurrently-in-transaction'],
    ['alter table t add constraint k foreign key (a) references u (a);', 'constraint-scans-table'],
    ['alter table t add constraint k check (a > 0);', 'constraint-scans-table'],
    ['alter table t add unique (a);', 'unique-constraint-locks-table'],
    ['alter table t add constraint k primary key (a);', 'unique-constraint-locks-table'],
    ['alter table t alter column c type bigint;', 'type-change-rewrites'],
    ['alter table t alter c set data type bigint;', 'type-change-rewrites'],
    ['alter table t alter column type type bigint;', 'type-change-rewrites'],
    ['alter table t drop column c;', 'drop-before-contract'],
    ['alter table t drop c;', 'drop-before-contract'],
    ['drop table if exists t;', 'drop-before-contract'],
    ['alter table t rename column a to b;', 'rename-before-contract'],
    ['alter table t rename to u;', 'rename-before-contract'],
    ['lock table t;', 'heavy-lock'],
    ['vacuum full t;', 'heavy-lock'],
    ['truncate t;', 'heavy-lock'],
    ['update t set a = 1;', 'unbounded-dml'],
    ['update only s.t as x set a = 1 where b;', 'unbounded-dml'],
    ['delete from :"schema".t using u where t.a = u.a;', 'unbounded-dml'],
    ['insert into t (a) select a from u;', 'unbounded-dml'],
    ['insert into t select 1 from (select max(a) from "u") m;', 'unbounded-dml'],
    ['insert into t select a from unnest(array[1]) x (a) join u on true;', 'unbounded-dml'],
    ['with gone as (delete from t returning a) select a from gone;', 'unbounded-dml'],
    ['with few as (select 1 as a) insert into t select a from few cross join u;', 'unbounded-dml'],
    ['merge into t using u on true when matched then delete;', 'unbounded-dml'],
    ['do $$ begin if true then update t set a = 1; end if; end $$;', 'unbounded-dml'],
    ['do $$ begin for r in update t set a = 1 returning a loop null; end loop; end $$;', 'unbounded-dml'],
    ['create table n as select a from t;', 'unbounded-dml'],
    ['create materialized view n as with few as (select 1) select a from t, few;', 'unbounded-dml'],
  ])('%s', (sql, rule) => {
    expect(lint(sql)).toEqual([`${rule}@1`]);
  });

  test.each([
    'create index concurrently i on t (c);',
    'create unique index concurrently i on t (c);',
    'create index concurrently on t (c);',
    'drop index concurrently i;',
    'insert into t values (1);',
    'create table n (a int);',
  ])('without a transaction: %s', (sql) => {
    expect(lint(`-- eligo: no-transaction\n${sql}`)).toEqual(['not-repeatable@2']);
  });

  test('a copy of an old table in a new one, at its line', () => {
    expect(lint('create table n (a int);\ninsert into n select a from n;\ninsert into n select a from t;')).toEqual([
      'unbounded-dml@3',
    ]);
  });

  test('what stands among other clauses and lines', () => {
    expect(
      lint(
        'select 1;\n-- a comment; with a semicolon\nalter table t\n  add column a int default (1 + 2),\n  add column b int not null;',
      ),
    ).toEqual(['required-column@3']);
  });
});

describe('the linter lets pass', () => {
  test.each([
    'alter table t add column c int;',
    'alter table t add column c int not null default 0;',
    'alter table t add column c timestamptz(3) not null default now();',
    'alter table t alter column c set default 5, alter column c drop not null;',
    'alter table t alter column type set (n_distinct = 20);',
    'alter table t alter column state set statistics 0, alter column at set statistics 0;',
    'alter table t add constraint k check (a > 0) not valid;',
    'alter table t validate constraint k;',
    'alter table t add constraint k unique using index i;',
    'alter table t drop constraint k;',
    '-- eligo: no-transaction\ncreate index concurrently if not exists i on t (c);\ndrop index concurrently if exists j;',
    '-- eligo: no-transaction\nvacuum t;',
    '-- eligo: contract\nalter table t drop column c;',
    '-- eligo: contract\nalter table t rename column a to b;',
    "comment on table t is 'drop table t; lock table t';",
    'create function f() returns void language plpgsql as $$ begin truncate t; end $$;',
    'create table n (a int not null);\ncreate index i on n (a);\nalter table n add constraint k check (a > 0);\ntruncate n;\ndrop table n;',
    'create table s.n (a int);\ncreate index i on n (a);',
    'create table n (a int);\nupdate n set a = 1;\ndelete from n;\nwith m as (select a from n) insert into n select a from m;',
    'insert into t (a) values (1) on conflict (a) do update set a = 2;',
    "insert into t select a from unnest(array['update t set a = 1']) a;",
    'insert into t select 1 where 2 is distinct from 3;',
    'create trigger g before update on t for each row execute function f();',
    'grant update, delete on t to r;',
    'create function f() returns void language plpgsql as $$ begin update t set a = 1; end $$;',
    'do $$ begin create policy p on t for update using (true); end $$;',
    '-- eligo: few-rows: one for each account, of which there are thousands\nupdate t set a = 1;',
  ])('%s', (sql) => {
    expect(lint(sql)).toEqual([]);
  });

  test('the migrations of this package', async () => {
    expect(lintMigrations(await readMigrations([idempotencyMigrations]))).toEqual([]);
  });
});

test('an unknown header is refused, so that a misspelt one is not without effect', () => {
  expect(() => parseMigration('x', '-- eligo: no-transactions\nselect 1')).toThrow('no-transactions');
});

test.each(['few-rows', 'few-rows:', 'few-rows: '])('a header that allows changes needs a reason: "%s"', (header) => {
  expect(() => parseMigration('x', `-- eligo: ${header}\nupdate t set a = 1`)).toThrow('needs a reason');
});

test('statements end at semicolons outside quotes and comments', () => {
  const sql = `select ';'; select "a;b" /* ; /* ; */ ; */ from t;
    create function f() returns text language sql as $body$ select 'x;$$;' $body$;
    -- ; nothing
    select 'it''s; one'`;
  expect(splitStatements(sql).map(({ text, line }) => [line, text.slice(0, 12)])).toEqual([
    [1, "select ';'"],
    [1, 'select "a;b"'],
    [2, 'create funct'],
    [4, "select 'it''"],
  ]);
});
