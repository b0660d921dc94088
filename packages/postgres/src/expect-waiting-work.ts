import type pg from 'pg';

/**
 * Has the planner expect that many rows wait, in each column that says whether a row has work. Migrations mark these columns by `set statistics 0`.
 * ANALYZE reads such a column when nearly no row has work. The planner then expects one row with work at most, and finds a row by its key among all
 * that have some, which are many after an outage (ADR 3). 0 keeps ANALYZE from collecting statistics, so that those that are made here stay: half
 * of the rows have no value, where that is allowed, and a quarter of the others have each value.
 */
export async function expectWaitingWork(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ table: string; name: string; column: string; nulls: number }>(
    `select t.oid::regclass::text as table, t.relname as name, a.attname as column, case when a.attnotnull then 0 else 0.5 end::float8 as nulls
       from pg_attribute a join pg_class t on t.oid = a.attrelid
      where t.relnamespace = to_regnamespace($1) and t.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attstattarget = 0
        and (t.reltuples <= 0 or not coalesce($2 = any(a.attoptions), false))
      order by t.relname, a.attnum`,
    [client.escapeIdentifier(schema), made],
  );
  for (const { table, name, column, nulls } of rows) {
    await client.query('select pg_clear_attribute_stats($1, $2, $3, false)', [schema, name, column]);
    await client.query(setStatistics, [schema, name, column, nulls]);
    // ANALYZE does not read it. It says that the statistics are there, and comes last: after a lock time-out all three are repeated.
    await client.query(`alter table ${table} alter column ${client.escapeIdentifier(column)} set (${made})`);
  }
}

const made = 'n_distinct=4';

const setStatistics = `select pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', $3::text, 'inherited', false,
    'version', current_setting('server_version_num')::integer, 'null_frac', $4::real, 'avg_width', 8, 'n_distinct', 4::real)`;
