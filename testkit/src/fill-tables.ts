import type { TestDatabase } from './test-database.ts';

/**
 * Fills a schema's empty tables by set-based inserts (`<table> (<columns>) select …`), as the superuser, without triggers. Keys and indexes
 * are made afterwards and no row is logged, which takes a third of the time.
 */
export async function fillTables(
  test: Pick<TestDatabase, 'admin'>,
  schema: string,
  inserts: readonly string[],
): Promise<void> {
  const tables = await test.admin<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1 and tablename <> 'migrations'`,
    [schema],
  );
  const keys = await test.admin<{ drop: string; make: string; is_reference: boolean }>(selectKeys, [schema]);
  const indexes = await test.admin<{ drop: string; make: string }>(selectIndexes, [schema]);
  const references = keys.filter((key) => key.is_reference);
  const unique = keys.filter((key) => !key.is_reference);
  await test.admin([...references, ...unique, ...indexes].map(({ drop }) => drop).join('; '));
  // Statistics and visibility are made here and then left alone, so that a plan is the same in every run.
  const settings = tables.flatMap(({ name }) => [
    `alter table ${name} set unlogged`,
    `alter table ${name} set (autovacuum_enabled = off)`,
  ]);
  await test.admin(settings.join('; '));
  await sideBySide(
    inserts.map(
      (text) => `set session_replication_role = replica; insert into ${schema}.${text}; reset session_replication_role`,
    ),
    test,
  );
  await sideBySide(
    [...unique, ...indexes].map(({ make }) => make),
    test,
  );
  await test.admin(references.map(({ make }) => make).join('; '));
  await sideBySide(
    tables.map(({ name }) => `vacuum (analyze) ${name}`),
    test,
  );
}

// Two at a time: as many as `admin` has connections, and as the machines that run this have processors.
async function sideBySide(texts: readonly string[], test: Pick<TestDatabase, 'admin'>): Promise<void> {
  const rest = [...texts];
  const work = async () => {
    for (let text = rest.shift(); text !== undefined; text = rest.shift()) await test.admin(text);
  };
  await Promise.all([work(), work()]);
}

// A reference is made again without a look at the rows: it is as good for those that come.
const selectKeys = `
  select format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname) as drop, c.contype = 'f' as is_reference,
    format('alter table %s add constraint %I %s%s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid),
      case when c.contype = 'f' then ' not valid' else '' end) as make
  from pg_constraint c join pg_class t on t.oid = c.conrelid
  where t.relnamespace = $1::regnamespace and t.relname <> 'migrations' and c.contype in ('p', 'u', 'f')
  order by t.relname, c.conname`;

const selectIndexes = `
  select format('drop index %s', i.indexrelid::regclass) as drop, pg_get_indexdef(i.indexrelid) as make
  from pg_index i join pg_class t on t.oid = i.indrelid
  where t.relnamespace = $1::regnamespace and t.relname <> 'migrations' and t.relkind = 'r'
    and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
  order by t.relname`;
