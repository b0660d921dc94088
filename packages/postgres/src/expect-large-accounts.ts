import type pg from 'pg';

/**
 * Has the planner expect that every account is large, in each table of the schema under row-level security. A statement has one plan for all accounts
 * (ADR 3). Among thousands of small accounts the planner expects a few rows of any, so that one entry of an index and all rows of the account look
 * equally cheap, and a statement reads all rows of an account that is large. One entry is right for both.
 */
export async function expectLargeAccounts(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ table: string; analyzed: boolean }>(
    `select t.oid::regclass::text as table, t.reltuples > 0 as analyzed
       from pg_attribute a join pg_class t on t.oid = a.attrelid
      where t.relnamespace = to_regnamespace($1) and t.relkind = 'r' and t.relrowsecurity and a.attname = 'account_id'
        and not exists (select from unnest(a.attoptions) option where option like 'n_distinct=%')
      order by t.relname`,
    [client.escapeIdentifier(schema)],
  );
  for (const { table, analyzed } of rows) {
    await client.query(`alter table ${table} alter column account_id set (n_distinct = ${accountsExpected})`);
    // It counts from the next statistics on. Of a table without any, the planner makes a better guess than of one that was analyzed while it was empty.
    if (analyzed) await client.query(`analyze ${table}`);
  }
}

// A quarter of a table belongs to the account of a statement.
const accountsExpected = 4;
