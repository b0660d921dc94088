import type pg from 'pg';

/**
 * Has the planner expect that every account is large, in each table of the schema under row-level security. A statement has one plan for all accounts
 * (ADR 3). Among thousands of small accounts the planner expects a few rows of any, so that one entry of an index and all rows of the account look
 * equally cheap, and a statement reads all rows of an account that is large. One entry is right for both. A table without statistics gets some that
 * say that all of its rows are of one account, until it is analyzed.
 */
export async function expectLargeAccounts(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ table: string; name: string; analyzed: boolean; expected: boolean }>(
    `select t.oid::regclass::text as table, t.relname as name, t.reltuples > 0 as analyzed,
            exists (select from unnest(a.attoptions) option where option like 'n_distinct=%') as expected
       from pg_attribute a join pg_class t on t.oid = a.attrelid
      where t.relnamespace = to_regnamespace($1) and t.relkind = 'r' and t.relrowsecurity and a.attname = 'account_id'
      order by t.relname`,
    [client.escapeIdentifier(schema)],
  );
  for (const { table, name, analyzed, expected } of rows) {
    if (!expected) {
      await client.query(`alter table ${table} alter column account_id set (n_distinct = ${accountsExpected})`);
      // It counts from the next statistics on.
      if (analyzed) await client.query(`analyze ${table}`);
    }
    if (!analyzed) await client.query(setStatistics, [schema, name]);
  }
}

// A quarter of a table belongs to the account of a statement.
const accountsExpected = 4;

// One account and one mode: the policy compares both columns once more, and the planner multiplies.
const setStatistics = `select pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', a.name, 'inherited', false,
    'version', current_setting('server_version_num')::integer, 'null_frac', 0::real, 'avg_width', a.width, 'n_distinct', 1::real)
  from (values ('account_id', 30), ('test_mode', 1)) a (name, width)
 where exists (select from pg_attribute c
   where c.attrelid = format('%I.%I', $1::text, $2::text)::regclass and c.attname = a.name)`;
