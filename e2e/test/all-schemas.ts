import { loadCompositions } from '@eligo/stack';
import { type TestDatabase, testDatabase } from '@eligo/testkit';

/** A database with the schema of every component, and their names. */
export async function openAllSchemas(): Promise<{ database: TestDatabase; names: string[] }> {
  const { migrations } = await loadCompositions();
  const schemas = Object.entries(migrations).map(([name, sources]) => ({ name, migrations: sources }));
  return { database: await testDatabase(...schemas), names: schemas.map(({ name }) => name) };
}
