import { fileURLToPath } from 'node:url';
import { dumpSchema } from '@eligo/postgres';
import { loadCompositions } from '@eligo/stack';
import { testDatabase } from '@eligo/testkit';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../docs/schema/', import.meta.url));

/** docs/schema/ is what the migrations make, read from the catalog tables; `npx vitest run --project e2e schema-docs -u` writes it anew. */
it('describes every schema in docs/schema as its migrations leave it', { timeout: 120_000 }, async () => {
  const { migrations } = await loadCompositions();
  const schemas = Object.entries(migrations).map(([name, sources]) => ({ name, migrations: sources }));
  const database = await testDatabase(...schemas);
  try {
    for (const { name } of schemas) {
      await expect(await dumpSchema(database.adminUrl, name)).toMatchFileSnapshot(`${folder}${name}.sql`);
    }
  } finally {
    await database.drop();
  }
});
