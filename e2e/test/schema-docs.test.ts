import { fileURLToPath } from 'node:url';
import { dumpSchema } from '@eligo/postgres';
import type { TestDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAllSchemas } from './all-schemas.ts';

const folder = fileURLToPath(new URL('../../docs/schema/', import.meta.url));

let database: TestDatabase;
let names: string[];
beforeAll(async () => {
  ({ database, names } = await openAllSchemas());
}, 120_000);
afterAll(() => database?.drop());

/** docs/schema/ is what the migrations make, read from the catalog tables; `npx vitest run --project e2e schema-docs -u` writes it anew. */
it('describes every schema in docs/schema as its migrations leave it', { timeout: 120_000 }, async () => {
  for (const name of names) {
    await expect(await dumpSchema(database.adminUrl, name)).toMatchFileSnapshot(`${folder}${name}.sql`);
  }
});

it('can be restored from a dump: what checks, defaults and indexes call needs no search path, which a restore does not have [D14.211]', async () => {
  // A restore runs these functions as it fills the tables and builds the indexes. A body that Postgres has parsed has the schemas in it.
  const needy = () =>
    database.admin(
      `select distinct p.oid::regprocedure::text as name from pg_depend d join pg_proc p on d.refobjid = p.oid
        where d.refclassid = 'pg_proc'::regclass
          and d.classid in ('pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass)
          and p.pronamespace = any ($1::text[]::regnamespace[]) and p.prosqlbody is null
          and not coalesce(array_to_string(p.proconfig, ' ') ~ 'search_path=', false)`,
      [names],
    );
  expect(await needy()).toEqual([]);
  await database.admin(`create function catalog.is_known(id text) returns boolean language plpgsql stable as
    $$ begin return exists (select from prices where price_id = id); end $$`);
  await database.admin('create table catalog.tried (id text check (catalog.is_known(id)))');
  expect(await needy()).toEqual([{ name: 'catalog.is_known(text)' }]);
});
