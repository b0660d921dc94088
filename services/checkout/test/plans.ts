import { type Database, unscoped } from '@eligo/postgres';
import pg from 'pg';

const selectPrepared = unscoped<{ name: string; statement: string }>(
  'test.prepared',
  'select name, statement from pg_prepared_statements order by name',
);

/**
 * What is wrong with the plans of the statements that were prepared on a database's one connection, and how many they are: as the service's own
 * role, each must find its rows by an index that leads with account and mode. `acrossAccounts` are those that run as the finder.
 */
export async function plansOf(
  database: Database,
  adminUrl: string,
  acrossAccounts: RegExp,
): Promise<{ checked: number; faults: string[] }> {
  const prepared = await database.rows(selectPrepared, null);
  const statements = prepared.filter(
    ({ statement }) => /checkout\./.test(statement) && !acrossAccounts.test(statement),
  );
  const client = new pg.Client(adminUrl);
  await client.connect();
  try {
    // Row-level security keeps some conditions from using an index. With sequential scans priced out, one that is still there has no index to use.
    await client.query('set role eligo_checkout; set enable_seqscan = off; set search_path = checkout');
    const faults: string[] = [];
    for (const { name, statement } of statements) {
      const { rows } = await client.query(`explain (generic_plan, costs off) ${statement}`);
      const plan = rows.map((row) => String(row['QUERY PLAN']));
      for (const [i, step] of plan.entries()) {
        if (/Seq Scan on/.test(step)) faults.push(`${name}: ${step.trim()}`);
        if (!/Index (Only )?Scan.* on|Bitmap Index Scan/.test(step)) continue;
        const condition = plan.slice(i + 1, i + 3).find((line) => line.includes('Index Cond')) ?? '';
        if (!condition.includes('account_id') || !condition.includes('test_mode'))
          faults.push(`${name}: ${step.trim()} ${condition.trim()}`);
      }
    }
    return { checked: statements.length, faults };
  } finally {
    await client.end();
  }
}
