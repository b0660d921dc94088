import { connectionConfig, declaredStatements } from '@eligo/postgres';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refundsService } from '../src/service.ts';

let place: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  place = await testDatabase(refundsService);
  client = new pg.Client(
    connectionConfig({ url: place.urlOf('refunds'), schema: 'refunds', readsByKey: true, applicationName: 'plans' }),
  );
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await place.drop();
});

// Without statistics the planner would expect no rows of an account, so that any index that begins with account and mode costs as little as the key.
it.each([
  ['making a refund pending', "set status = 'pending', amount_cents", 3],
  ['settling a refund', "set status = 'succeeded', reference_id", 6],
])('%s finds each row by its key, before any table has statistics', async (_name, part, lookups) => {
  const statement = declaredStatements().find(({ text }) => text.includes('unnest') && text.includes(part));
  const { rows } = await client.query(`explain (generic_plan, costs off) ${statement?.text}`);
  const plan = rows.map((row) => String(row['QUERY PLAN']));
  const conditions = plan.filter((step) => step.includes('Index Cond: ((account_id'));
  expect(conditions.length).toBeGreaterThanOrEqual(lookups);
  for (const condition of conditions)
    expect(condition).toMatch(/\(test_mode = \$2\) AND \((id|refund_id|payment_intent_id|attempt_id|source_id) = /);
  expect(plan.filter((step) => step.includes('Seq Scan on refund'))).toEqual([]);
});
