import { type Database, unscoped } from '@eligo/postgres';
import pg from 'pg';

/** Whose statements are planned, and where they were prepared. */
export interface PlannedService {
  readonly name: string;
  /** What has run the statements, over this many connections (one, unless said otherwise). */
  readonly database: Database;
  readonly connections?: number;
  /** Connects as the superuser. */
  readonly adminUrl: string;
  /** Statements that work across accounts: they run as the finder, through functions, and answer ids only (ARCHITECTURE, invariant 6). */
  readonly acrossAccounts: RegExp;
}

const selectPrepared = unscoped<{ name: string; statement: string }>(
  'test.prepared',
  'select name, statement from pg_prepared_statements order by name',
);

// What the packages under a service prepare has their own tests.
const ofPackages = /pg_prepared_statements|outbox|inbox/;

/**
 * What is wrong with the plans of the statements that a service has prepared, and how many they are: as the service's own role, each must find
 * its rows by an index that leads with account and mode.
 */
export async function plansOf(service: PlannedService): Promise<{ checked: number; faults: string[] }> {
  const { name: role, database, connections = 1, adminUrl, acrossAccounts } = service;
  // Asked at once, each connection of the pool answers for itself.
  const prepared = await Promise.all(Array.from({ length: connections }, () => database.rows(selectPrepared, null)));
  const statements = new Map(prepared.flat().map(({ name, statement }) => [name, statement]));
  for (const [name, statement] of statements) {
    if (ofPackages.test(statement) || acrossAccounts.test(statement)) statements.delete(name);
  }
  const client = new pg.Client(adminUrl);
  await client.connect();
  try {
    // Row-level security keeps some conditions from using an index. With sequential scans priced out, one that is still there has no index to use.
    await client.query(`set role eligo_${role}; set enable_seqscan = off; set search_path = ${role}`);
    const faults: string[] = [];
    for (const [name, statement] of statements) {
      const { rows } = await client.query(`explain (generic_plan, costs off) ${statement}`);
      const plan = rows.map((row) => String(row['QUERY PLAN']));
      faults.push(...faultsOf(plan).map((fault) => `${name}: ${fault}`));
    }
    return { checked: statements.size, faults };
  } finally {
    await client.end();
  }
}

function faultsOf(plan: readonly string[]): string[] {
  return plan.flatMap((step, at) => {
    if (/Seq Scan on/.test(step)) return [step.trim()];
    if (!/Index (Only )?Scan.* on|Bitmap Index Scan/.test(step)) return [];
    const condition = plan.slice(at + 1, at + 3).find((line) => line.includes('Index Cond')) ?? '';
    const leads = condition.includes('account_id') && condition.includes('test_mode');
    return leads ? [] : [`${step.trim()} ${condition.trim()}`];
  });
}
