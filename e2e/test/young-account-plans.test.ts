import { connectionConfig, declaredStatements } from '@eligo/postgres';
import type { TestDatabase } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAllSchemas } from './all-schemas.ts';

let database: TestDatabase;
let names: string[];
beforeAll(async () => {
  ({ database, names } = await openAllSchemas());
}, 120_000);
afterAll(() => database?.drop());

// In a table of a few hundred rows Postgres turns an `exists` about each row into one read of all that the account has, and keeps that plan while the table grows
// to thousands. The growth tests begin with a thousand records, where it looks up each row. `offset 0` keeps it a look-up (ADR 3).
it('no statement reads all of a young account to look up a few of its rows', { timeout: 120_000 }, async () => {
  const statements = declaredStatements().filter(({ text }) => /\bexists \(/.test(text));
  const plans = new Map<string, string>();
  for (const name of names) {
    const client = new pg.Client(
      connectionConfig({ url: database.urlOf(name), schema: name, readsByKey: true, applicationName: 'plans' }),
    );
    await client.connect();
    try {
      for (const { name: statement, text } of statements) {
        const plan = plans.has(statement) ? undefined : await planOf(client, text);
        if (plan !== undefined) plans.set(statement, plan);
      }
    } finally {
      await client.end();
    }
  }
  // The ledger check of the command line reads all schemas, which no service may. It is declared here when a test beside this one loads it.
  expect(statements.filter(({ name }) => !plans.has(name) && !name.startsWith('ledger_check.'))).toEqual([]);
  expect(plans.size).toBeGreaterThan(20);
  const hashed = [...plans].filter(([, plan]) => plan.includes('hashed SubPlan'));
  expect(hashed.map(([name]) => name.slice(0, name.lastIndexOf(':')))).toEqual([]);
});

// Undefined for a statement of another service: this role may not use its tables, or does not find them.
async function planOf(client: pg.Client, text: string): Promise<string | undefined> {
  try {
    const { rows } = await client.query<Record<string, string>>(`explain (generic_plan, verbose, costs off) ${text}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } catch (error) {
    if (error instanceof pg.DatabaseError && /^(42501|42P01|42883|42703|3F000)$/.test(error.code ?? ''))
      return undefined;
    throw new Error(`Cannot explain ${text}`, { cause: error });
  }
}
