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
  const { rows } = await client.query<WorkColumn>(
    `select t.oid::regclass::text as table, t.relname as name, a.attname as column, case when a.attnotnull then 0 else 0.5 end::float8 as nulls,
            coalesce($2 = any(a.attoptions), false) as "isMarked"
       from pg_attribute a join pg_class t on t.oid = a.attrelid
      where t.relnamespace = to_regnamespace($1) and t.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attstattarget = 0
      order by t.relname, a.attnum`,
    [client.escapeIdentifier(schema), mark],
  );
  for (const { table, name, column, nulls, isMarked } of rows) {
    const make = async () => {
      const made = await client.query<{ isMade: boolean }>(setStatistics, [schema, name, column, nulls]);
      // Postgres has said why in a warning to its log.
      if (made.rows[0]?.isMade !== true)
        process.emitWarning(`migrating ${schema}: Postgres refused statistics of ${name}.${column}`);
      return made.rows[0]?.isMade === true;
    };
    if (isMarked) {
      // A vacuum can hold the table for hours. The statistics are there already, except after a restore.
      await make().catch((error) => {
        if (!isLockMissing(error)) throw error;
        process.emitWarning(`migrating ${schema}: ${name} is locked, so that ${name}.${column} keeps its statistics`);
      });
      continue;
    }
    await client.query('select pg_clear_attribute_stats($1, $2, $3, false)', [schema, name, column]);
    if (!(await make())) continue;
    // ANALYZE does not read it. It says that what ANALYZE had collected is gone, and comes last: after a lock time-out all three are repeated.
    await client.query(`alter table ${table} alter column ${client.escapeIdentifier(column)} set (${mark})`);
  }
}

interface WorkColumn {
  readonly table: string;
  readonly name: string;
  readonly column: string;
  readonly nulls: number;
  readonly isMarked: boolean;
}

const mark = 'n_distinct=4';

const setStatistics = `select pg_restore_attribute_stats('schemaname', $1::text, 'relname', $2::text, 'attname', $3::text, 'inherited', false,
    'version', current_setting('server_version_num')::integer, 'null_frac', $4::real, 'avg_width', 8, 'n_distinct', 4::real) as "isMade"`;
