import { declaredStatements } from '@eligo/postgres';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refundsService } from '../src/service.ts';

let place: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  place = await testDatabase(refundsService);
  client = new pg.Client(place.urlOf('refunds'));
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await place.drop();
});

// Without statistics the planner expects no rows of an account, so any index that begins with account and mode costs as little as the key.
it('settling a refund finds each row by its key, before any table has statistics', async () => {
  const statement = declaredStatements().find(({ text }) => text.includes("set status = 'succeeded'"));
  const { rows } = await client.query(`explain (generic_plan, costs off) ${statement?.text}`);
  const plan = rows.map((row) => String(row['QUERY PLAN']));
  const conditions = plan.filter((step) => step.includes('Index Cond: ((account_id'));
  expect(conditions).toHaveLength(6);
  for (const condition of conditions) expect(condition).toMatch(/\$(3|4|5|11)\b/);
  expect(plan.filter((step) => step.includes('Seq Scan on refund'))).toEqual([]);
});
