import type { TestDatabase } from './test-database.ts';

/**
 * Gives the tables of a schema the statistics of a time when nothing waits for work, as ANALYZE collects them on most days: a connection then keeps
 * plans for an empty queue, also when an outage fills it. What waits is what the indexes on a part of a table are for.
 */
export async function takeQuietStatistics(test: Pick<TestDatabase, 'admin'>, schema: string): Promise<void> {
  const indexes = await test.admin<{ table: string; of: string }>(selectParts, [schema]);
  for (const [table, parts] of Map.groupBy(indexes, (index) => index.table)) {
    const waits = await partsToLeaveOut(
      test,
      table,
      parts.map((part) => part.of),
    );
    if (waits === undefined) continue;
    await test.admin(`
      create unlogged table ${schema}.quiet as select * from ${table} where (${waits}) is not true;
      analyze ${schema}.quiet;
      set allow_system_table_mods = on;
      update pg_statistic s set (${slots}) = (select ${slots} from pg_statistic q
          join pg_attribute c on c.attrelid = q.starelid and c.attnum = q.staattnum
         where q.starelid = '${schema}.quiet'::regclass and c.attname = a.attname)
        from pg_attribute a
       where s.starelid = '${table}'::regclass and a.attrelid = s.starelid and a.attnum = s.staattnum
         -- What a migration has set counts.
         and coalesce(a.attstattarget, -1) <> 0 and a.attoptions is null
         and exists (select from pg_attribute c join pg_statistic q on q.starelid = c.attrelid and q.staattnum = c.attnum
           where c.attrelid = '${schema}.quiet'::regclass and c.attname = a.attname);
      reset allow_system_table_mods;
      drop table ${schema}.quiet`);
  }
}

// The rows of these parts, as long as a fifth of the table is in none. A part with most of the rows is no queue.
async function partsToLeaveOut(
  test: Pick<TestDatabase, 'admin'>,
  table: string,
  parts: readonly string[],
): Promise<string | undefined> {
  const left: string[] = [];
  for (const part of parts) {
    const [share] = await test.admin<{ part: number | null; rest: number | null }>(
      `select avg(case when ${part} then 1 else 0 end)::float8 as part,
         avg(case when ${[...left, part].join(' or ')} then 0 else 1 end)::float8 as rest from ${table}`,
    );
    if ((share?.part ?? 1) <= 0.5 && (share?.rest ?? 0) >= 0.2) left.push(part);
  }
  return left.length === 0 ? undefined : left.join(' or ');
}

// The rows that name another record wait for nothing.
const selectParts = `
  select i.indrelid::regclass::text as table, format('(%s)', pg_get_expr(i.indpred, i.indrelid)) as of
    from pg_index i join pg_class t on t.oid = i.indrelid
   where t.relnamespace = $1::regnamespace and i.indpred is not null
     and not exists (select from pg_attribute a where a.attrelid = i.indrelid and a.attnum > 0 and a.atttypid = 'text'::regtype
       and pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname))
   order by 1, i.indexrelid::regclass::text`;

const slots = ['stanullfrac', 'stadistinct']
  .concat(
    [1, 2, 3, 4, 5].flatMap((n) => ['stakind', 'staop', 'stacoll', 'stanumbers', 'stavalues'].map((of) => of + n)),
  )
  .join(', ');
