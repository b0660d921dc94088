import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AnotherInstallation, installationOf, migrate, type ProvisionOptions, provisionRoles } from '../src/index.ts';
import { things } from './support.ts';

// Names that no other file uses: roles belong to the server, and this file removes its own.
const services = ['orders', 'stock'];
const first = { owner: 'o1', orders: 'a1', stock: 'b1' };
const second = { owner: 'o2', orders: 'a2', stock: 'b2' };
const serverUrl = process.env.ELIGO_TEST_POSTGRES_URL ?? '';
let server: pg.Client;
let databases: string[] = [];
let names: string[] = [];

beforeAll(async () => {
  server = new pg.Client(serverUrl);
  await server.connect();
});
beforeEach(async () => {
  await removeAll();
});
afterAll(async () => {
  await removeAll();
  await server.end();
});

test('two installations with databases and names of their own live on one server, and neither reaches the other', async () => {
  const [one, two] = [await database(), await database()];
  const a = await set(one, name('a'), first);
  const b = await set(two, name('b'), second);
  expect(await userOf(a.services.orders)).toBe(`eligo_${names[0]}_orders`);
  expect(await userOf(b.services.orders)).toBe(`eligo_${names[1]}_orders`);
  await expect(userOf(on(a.services.orders, two))).rejects.toMatchObject({ code: '42501' });
  // Each is set up again with what it had, and goes on.
  await set(one, names[0], first);
  await set(two, undefined, second);
  expect(await userOf(a.services.orders)).toBe(`eligo_${names[0]}_orders`);
});

test('a second installation of the same name is refused, also in its own database, and the first keeps working', async () => {
  const [one, two] = [await database(), await database()];
  const installation = name('a');
  const a = await set(one, installation, first);
  const before = await everyRole();
  await expect(set(two, installation, second)).rejects.toThrow(
    `This Postgres server already has the role eligo_${installation}_owner of another Eligo installation. ` +
      'Set ELIGO_INSTALLATION to a unique name.',
  );
  expect(await everyRole()).toEqual(before);
  expect(await schemasOf(two)).toEqual([]);
  expect(await userOf(a.services.stock)).toBe(`eligo_${installation}_stock`);
});

test('a database that serves another installation is refused before anything is changed, by name and by password', async () => {
  const one = await database();
  const installation = name('a');
  const a = await set(one, installation, first);
  const before = await everyRole();
  const byName = set(one, name('b'), second);
  await expect(byName).rejects.toBeInstanceOf(AnotherInstallation);
  await expect(byName).rejects.toThrow(`This database belongs to the Eligo installation "${installation}"`);
  const byPassword = provisionRoles({ adminUrl: one, services, passwords: second, newInstallation: name('c') });
  await expect(byPassword).rejects.toThrow('This database belongs to another Eligo installation: its role');
  expect(await everyRole()).toEqual(before);
  expect(await userOf(a.services.orders)).toBe(`eligo_${installation}_orders`);
});

test('roles without passwords are refused where they serve another database, and kept where they serve this one', async () => {
  const [one, two] = [await database(), await database()];
  const installation = name('a');
  await set(one, installation, first);
  await expect(set(two, installation, undefined)).rejects.toBeInstanceOf(AnotherInstallation);
  expect(await schemasOf(two)).toEqual([]);
  await set(one, installation, undefined);
});

test('passwords change when that is asked for', async () => {
  const one = await database();
  const installation = name('a');
  await set(one, installation, first);
  await expect(set(one, installation, second)).rejects.toBeInstanceOf(AnotherInstallation);
  const changed = await set(one, installation, second, { newPasswords: true });
  expect(await userOf(changed.services.orders)).toBe(`eligo_${installation}_orders`);
  await expect(set(one, installation, first)).rejects.toBeInstanceOf(AnotherInstallation);
});

test('an installation from before names keeps its roles, and others are refused its database', async () => {
  const one = await database();
  // Other files' databases have the owner without a name, too, and its password.
  const { owner: _owner, ...passwords } = first;
  const a = await provisionRoles({ adminUrl: one, services, passwords, newPasswords: true });
  await run(one, 'drop schema eligo cascade');
  expect(await installationOf(one, { newInstallation: 'new' })).toBe('');
  const { owner: _other, ...others } = second;
  const foreign = provisionRoles({ adminUrl: one, services, passwords: others, newInstallation: 'new' });
  await expect(foreign).rejects.toBeInstanceOf(AnotherInstallation);
  expect(await userOf(a.services.orders)).toBe('eligo_orders');
  const adopted = await provisionRoles({ adminUrl: one, services, passwords, newInstallation: 'new' });
  expect(adopted).toMatchObject({ installation: '', services: a.services });
  expect(await run(one, 'select name from eligo.installation')).toEqual([{ name: '' }]);
  await expect(set(one, 'shop', first)).rejects.toThrow('the Eligo installation that has no name');
});

test('two that set up one new database at once leave it to one of them', async () => {
  const one = await database();
  const both = await Promise.allSettled([set(one, name('a'), first), set(one, name('b'), second)]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const [row] = await run(one, 'select name from eligo.installation');
  expect(await schemasOf(one)).toEqual(services.map((schema) => ({ schema, owner: `eligo_${row?.name}_owner` })));
});

test('migrations that name the roles without a name make what belongs to the roles of the installation', async () => {
  const one = await database();
  const { owner, roles } = await set(one, name('a'), first);
  const of = { schema: 'orders', role: roles.ofService('orders'), finder: roles.finder };
  await migrate({ url: owner, ...of, sources: [things] });
  await run(one, 'create table orders.kept (id text)');
  const literal = new URL('./migrations-literal', import.meta.url).pathname;
  await migrate({ url: owner, ...of, sources: [things, { name: 'literal', directory: literal }] });
  const [row] = await run(
    one,
    `select pg_get_userbyid(proowner) as owner, has_function_privilege('${of.role}', oid, 'execute') as may from pg_proc where proname = 'found'`,
  );
  expect(row).toEqual({ owner: of.finder, may: true });
});

test('a name that is none is refused', async () => {
  const one = await database();
  for (const wrong of ['Shop', 'a_b', 'a-b', 'x'.repeat(21)]) {
    await expect(set(one, wrong, first)).rejects.toThrow('ELIGO_INSTALLATION must be');
  }
});

function set(
  adminUrl: string,
  installation: string | undefined,
  passwords: Record<string, string> | undefined,
  more: Partial<ProvisionOptions> = {},
) {
  return provisionRoles({ adminUrl, services, installation, ...(passwords ? { passwords } : {}), ...more });
}

async function database(): Promise<string> {
  const made = `installation_test_${randomBytes(6).toString('hex')}`;
  databases.push(made);
  await server.query(`create database ${made}`);
  const url = new URL(serverUrl);
  url.pathname = `/${made}`;
  return url.href;
}

function name(prefix: string): string {
  const made = `${prefix}${randomBytes(4).toString('hex')}`;
  names.push(made);
  return made;
}

function on(url: string | undefined, databaseUrl: string): string {
  const target = new URL(url ?? '');
  target.pathname = new URL(databaseUrl).pathname;
  return target.href;
}

async function userOf(url: string | undefined): Promise<unknown> {
  return (await run(url ?? '', 'select current_user as name'))[0]?.name;
}

/** The roles of this test's names. Other files change the roles without a name, on the same server, at the same time. */
function everyRole() {
  return run(
    serverUrl,
    `select rolname, rolpassword from pg_authid where rolname ~ '^eligo_(${names.join('|')})_' order by 1`,
  );
}

function schemasOf(url: string) {
  return run(
    url,
    `select nspname as schema, pg_get_userbyid(nspowner) as owner from pg_namespace where nspname in ('orders', 'stock') order by 1`,
  );
}

async function run(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function removeAll(): Promise<void> {
  for (const made of databases) await server.query(`drop database if exists ${made} with (force)`);
  const { rows } = await server.query<{ role: string }>(
    `select rolname as role from pg_roles where rolname = any ($1) or rolname in ('eligo_orders', 'eligo_stock')`,
    [names.flatMap((installation) => ['owner', 'finder', ...services].map((part) => `eligo_${installation}_${part}`))],
  );
  for (const { role } of rows) await server.query(`drop role ${role}`);
  databases = [];
  names = [];
}
