import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type MigrationSource,
  migrate,
  migrationSource,
  openSession,
  type Session,
  serviceRole,
} from '@eligo/postgres';
import { type TestDatabase, testDatabase, untilLockWait } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalogService } from '../src/service.ts';

const schema = 'catalog';
const ofCatalog = new URL('../migrations/', import.meta.url);
const isOfThisRelease = (file: string) => file >= '0029';

let folder: string;
let place: TestDatabase;
let old: Session;

// The schema as the release before left it, with a product of 1,500 prices and connections that have used it.
beforeAll(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'eligo-upgrade-')), schema);
  await mkdir(folder);
  for (const file of (await readdir(ofCatalog)).filter((name) => !isOfThisRelease(name)))
    await copyFile(new URL(file, ofCatalog), join(folder, file));
  const others = catalogService.migrations.filter(({ name }) => name !== schema);
  place = await testDatabase({ name: schema, migrations: [...others, migrationSource(schema, folder)] });
  await place.admin(
    `insert into catalog.products (account_id, test_mode, product_id, created_at, updated_at) values ('a', true, 'many', now(), now())`,
  );
  await place.admin(
    `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents,
       created_at, updated_at) select 'a', true, 'p' || n, 'many', true, '', n, now(), now() from generate_series(1, 1500) n`,
  );
  old = await openSession(place.open(schema), 'old');
  await old.query("select set_config('eligo.account_id', 'a', false), set_config('eligo.test_mode', 'true', false)");
});
afterAll(async () => {
  await old?.close();
  await place?.drop();
  await rm(join(folder, '..'), { recursive: true, force: true });
});

// As an old process has prepared them.
const archive = "update products set active = $1 where account_id = 'a' and test_mode and product_id = 'many'";
const listed = "select listing, count(*)::int as count from prices where account_id = 'a' and test_mode group by 1";

it('the migrations wait for an archiving that runs, keep what it did, and old connections go on [D14.343]', async () => {
  const sources: readonly MigrationSource[] = catalogService.migrations;
  await old.query('begin');
  await old.query(archive, [false]);
  const migrated = migrate({ url: place.ownerUrl, schema, role: serviceRole(schema), sources });
  await untilLockWait(place.admin, 'the migrations to wait for the archiving');
  await old.query('commit');
  expect((await migrated).applied).toEqual(
    (await readdir(ofCatalog))
      .filter(isOfThisRelease)
      .sort()
      .map((file) => `${schema}/${file}`),
  );
  expect(await old.query(listed)).toEqual([{ listing: 'hidden', count: 1500 }]);
  await old.query(archive, [true]);
  expect(await old.query(listed)).toEqual([{ listing: 'active', count: 1500 }]);
  await old.query(
    `insert into prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key, unit_amount_cents,
       created_at, updated_at) values ('a', true, 'new', 'many', true, '', 1, now(), now())`,
  );
  await old.query("update prices set active = false where account_id = 'a' and test_mode and price_id = 'new'");
  expect(await old.query(`${listed} order by 1`)).toEqual([
    { listing: 'active', count: 1500 },
    { listing: 'archived', count: 1 },
  ]);
  const invalid = "select conname from pg_constraint where conrelid = 'catalog.prices'::regclass and not convalidated";
  expect(await place.admin(invalid)).toEqual([]);
});
