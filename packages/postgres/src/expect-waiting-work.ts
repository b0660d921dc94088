import type pg from 'pg';
import { isLockMissing } from './errors.ts';

/**
 * Has the planner expect that many rows wait, in each column that says whether a row has work. Migrations mark these columns by `set statistics 0`.
 * ANALYZE reads such a column when nearly no row has work. The planner then expects one row with work at most, and finds a row by its key among all
 * that have some, which are many after an outage (ADR 3). 0 keeps ANALYZE from collecting statistics, so that those that are made here stay: half
 * of the rows have no value, where that is allowed, and a quarter of the others have each value.
 *
 * They are made again by each migration: a restore of a dump without statistics leaves none, and `pg_stats` hides whether there are some.
 */
export async function expectWaitingWork(
  client: Pick<pg.Client, 'query' | 'escapeIdentifier'>,
  schema: string,
): Promise<void> {
  const { rows } = await client.query<WorkColumns>(selectColumns, [client.escapeIdentifier(schema), mark]);
  for (const { table, name, columns, nulls, isMarked } of rows) {
    const of = [schema, name, columns];
    try {
      if (!isMarked) await client.query(clearStatistics, of);
      const { rows: made } = await client.query<{ column: string; isMade: boolean }>(setStatistics, [...of, nulls]);
      for (const { column, isMade } of made) {
        // Postgres has said why in a warning to its log.
        if (!isMade) process.emitWarning(`migrating ${schema}: Postgres refused statistics of ${name}.${column}`);
      }
      if (isMarked) continue;
      const marks = made
        .filter(({ isMade }) => isMade)
        .map(({ column }) => `alter column ${client.escapeIdentifier(column)} set (${mark})`);
      // ANALYZE does not read it. It says that what ANALYZE had collected is gone, and comes last: after a lock time-out all three are repeated.
      if (marks.length > 0) await client.query(`alter table ${table} ${marks.join(', ')}`);
    } catch (error) {
      if (!isMarked || !isLockMissing(error)) throw error;
      // A vacuum can hold the table for hours. The statistics are there already, except after a restore.
      for (const column of columns) {
        process.emitWarning(`migrating ${schema}: ${name} is locked, so that ${name}.${column} keeps its statistics`);
      }
    }
  }
}

/** Those of a table that are marked, or those that are not. */
interface WorkColumns {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly nulls: readonly number[];
  readonly isMarked: boolean;
}

const mark = 'n_distinct=4';

const selectColumns = `
  select w.table, w.name, array_agg(w.column) as columns, array_agg(w.nulls) as nulls, w.marked as "isMarked" from (
    select t.oid::regclass::text as table, t.relname as name, a.attname::text as column, case when a.attnotnull then 0 else 0.5 end::float8 as nulls,
           coalesce($2 = any(a.attoptions), false) as marked
      from pg_attribute a join pg_class t on t.oid = a.attrelid
     where t.relnamespace = to_regnamespace($1) and t.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attstattarget = 0) w
  group by w.table, w.name, w.marked order by w.name, w.marked`;

const clearStatistics = 'select pg_clear_attribute_stats($1, $2, c, false) from unnest($3::text[]) as c';

const setStatistics = `select c.name as column, pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', c.name, 'inherited', false,
    'version', current_setting('server_version_num')::integer, 'null_frac', c.nulls::real, 'avg_width', 8, 'n_distinct', 4::real) as "isMade"
  from unnest($3::text[], $4::float8[]) as c (name, nulls)`;
