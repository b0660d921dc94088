import { randomBytes } from 'node:crypto';
import { componentNames, loadCompositions, perComponent, prepareDatabase } from '@eligo/stack';
import { testPostgresUrl } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/index.ts';

const installation = `t${randomBytes(6).toString('hex')}`;
const [own, empty] = [`${installation}_own`, `${installation}_empty`];
const roleOf = (part: string) => `eligo_${installation}_${part}`;
let server: pg.Client;

beforeAll(async () => {
  server = new pg.Client(testPostgresUrl());
  await server.connect();
  for (const database of [own, empty]) await server.query(`create database ${database}`);
  const { migrations } = await loadCompositions();
  const passwords = { ...perComponent(() => 'first'), owner: 'first' };
  await prepareDatabase({ adminUrl: urlOf(own), installation, passwords, migrations, only: ['catalog'] });
}, 60_000);
afterEach(() => void vi.unstubAllEnvs());
afterAll(async () => {
  for (const database of [own, empty]) await server.query(`drop database if exists ${database} with (force)`);
  for (const part of [...componentNames, 'finder', 'owner']) await server.query(`drop role if exists ${roleOf(part)}`);
  await server.end();
});

it.each([
  {
    what: 'in its database with other passwords',
    database: own,
    name: installation,
    text: `This database belongs to another Eligo installation: its role ${roleOf('owner')} has a different password.`,
  },
  {
    what: 'in its database under another name',
    database: own,
    name: `${installation}x`,
    text: `This database belongs to the Eligo installation "${installation}"`,
  },
  {
    what: 'under its name in a database of its own',
    database: empty,
    name: installation,
    text: `This Postgres server already has the role ${roleOf('owner')} of another Eligo installation.`,
  },
])('migrate $what is refused, and the first installation goes on unchanged', async ({ database, name, text }) => {
  vi.stubEnv('DATABASE_URL', urlOf(database));
  vi.stubEnv('ELIGO_INSTALLATION', name);
  for (const part of [...componentNames, 'owner']) vi.stubEnv(`${part.toUpperCase()}_DATABASE_PASSWORD`, 'second');
  const before = await everything();
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(['migrate'], { out: (line) => out.push(line), err: (line) => err.push(line) });
  expect({ code, out, err }).toEqual({ code: 1, out: [], err: [expect.stringContaining(text)] });
  expect(err[0]).not.toContain('\n');
  expect(await everything()).toEqual(before);
  const asService = new URL(urlOf(own));
  Object.assign(asService, { username: roleOf('catalog'), password: 'first' });
  expect(await rowsIn(asService.href, 'select count(*)::int as n from catalog.products')).toEqual([{ n: 0 }]);
});

/** The roles of both names with their passwords, and the schemas, tables and applied migrations of both databases. */
async function everything() {
  const roles = `select rolname, rolpassword from pg_authid where starts_with(rolname, 'eligo_${installation}') order by 1`;
  const tables = `select n.nspname, c.relname, pg_get_userbyid(c.relowner) as owner from pg_namespace n left join pg_class c on c.relnamespace = n.oid
    where n.nspname !~ '^pg_|^information_schema$' order by 1, 2`;
  return {
    roles: await rowsIn(urlOf(own), roles),
    own: await rowsIn(urlOf(own), tables),
    empty: await rowsIn(urlOf(empty), tables),
    migrations: await rowsIn(urlOf(own), 'select * from catalog.migrations order by id'),
  };
}

function urlOf(database: string): string {
  const url = new URL(testPostgresUrl());
  url.pathname = `/${database}`;
  return url.href;
}

async function rowsIn(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
