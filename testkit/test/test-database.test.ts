import { migrationSource, unscoped } from '@eligo/postgres';
import { afterAll, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../src/index.ts';

// Roles belong to the server of the run: no other test may make one of this name with another password.
const schema = { name: 'testkit', migrations: [migrationSource('things', new URL('./migrations', import.meta.url))] };
const databases: TestDatabase[] = [];

afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()));
});

async function open(): Promise<TestDatabase> {
  const database = await testDatabase(schema);
  databases.push(database);
  return database;
}

it('gives each caller a migrated database of its own, also when many ask at once', async () => {
  const opened = await Promise.all([open(), open(), open()]);
  expect(new Set(opened.map(({ name }) => name)).size).toBe(3);
  await opened[0]?.admin(`insert into testkit.things values ('facct_a', true, 'x')`);
  const counts = await Promise.all(
    opened.map((database) => database.admin('select count(*)::int as n from testkit.things')),
  );
  expect(counts.map(([row]) => row?.n)).toEqual([1, 0, 0]);
});

it("opens the database as the schema's own role, which finds its tables by their plain names", async () => {
  const database = await open();
  const whoAmI = unscoped<{ role: string; n: bigint }>(
    'who_am_i',
    'select current_user as role, count(*) as n from things',
  );
  await expect(database.open().row(whoAmI, null)).resolves.toEqual({ role: 'eligo_testkit', n: 0n });
});
