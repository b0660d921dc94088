import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import { testPostgresUrl } from '@eligo/testkit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { homeAt, loadCompositions, prepareDatabase, type Stack, startStack } from '../src/index.ts';
import { removeHome } from '../src/postgres/remove.ts';

// Whole stacks are started here, two of them side by side.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'eligo-installations-'));
const homes = new Set<string>();
const databases = [newName(), newName()] as const;
const installations = new Set<string>();
const stacks: Stack[] = [];
let server: pg.Client;

beforeAll(async () => {
  server = new pg.Client(testPostgresUrl());
  await server.connect();
});

afterEach(async () => {
  for (const stack of stacks.splice(0)) await stack.stop();
  for (const database of databases) await server.query(`drop database if exists ${database} with (force)`);
  for (const installation of installations) {
    const { rows } = await server.query<{ role: string }>(
      'select rolname as role from pg_roles where starts_with(rolname, $1)',
      [`eligo_${installation}_`],
    );
    for (const { role } of rows) await server.query(`drop role ${role}`);
  }
  installations.clear();
});

afterAll(async () => {
  await server.end();
  for (const home of homes) removeHome(homeAt(home));
  rmSync(folder, { recursive: true, force: true });
});

it('two homes on one Postgres server run side by side, and a third is refused the database of the first', async () => {
  for (const database of databases) await server.query(`create database ${database}`);
  const first = await start('first', databases[0]);
  const second = await start('second', databases[1]);
  expect(first.installation).not.toBe(second.installation);
  expect([await answers(first), await answers(second)]).toEqual([200, 200]);

  // Its components' processes wait for the database by then, and go.
  await expect(start('third', databases[0], true)).rejects.toThrow(
    /This database belongs to another Eligo installation: its role eligo_\w+_owner has a different password\. .* Nothing was changed\./,
  );
  const { run, logs } = homeAt(join(folder, 'third'));
  expect(readdirSync(logs)).toContain('checkout.log');
  expect(readdirSync(run).filter((name) => name.endsWith('.json'))).toEqual([]);
  expect(await answers(first)).toBe(200);

  // Stopped and started again, a home goes on with its roles.
  await first.stop();
  stacks.splice(stacks.indexOf(first), 1);
  const again = await start('first', databases[0]);
  expect(again.installation).toBe(first.installation);
  expect(again.demo).toEqual(first.demo);
  expect(await answers(again)).toBe(200);
});

it('everything in the database of an installation with a name belongs to its own roles', async () => {
  await server.query(`create database ${databases[0]}`);
  const installation = newName().replaceAll('_', '').slice(0, 20);
  installations.add(installation);
  const { migrations } = await loadCompositions();
  const passwords = {
    catalog: 'c',
    checkout: 'c',
    billing: 'c',
    refunds: 'c',
    webhooks: 'c',
    gateway: 'c',
    owner: 'c',
  };
  await prepareDatabase({ adminUrl: urlOf(databases[0]), installation, passwords, migrations });
  const { rows } = await server.query<{ role: string }>(
    `select distinct r.rolname as role from pg_shdepend d join pg_roles r on r.oid = d.refobjid
      where d.refclassid = 'pg_authid'::regclass and d.dbid = (select oid from pg_database where datname = $1)
        and r.rolname like 'eligo%' order by 1`,
    [databases[0]],
  );
  const parts = ['billing', 'catalog', 'checkout', 'finder', 'gateway', 'owner', 'refunds', 'webhooks'];
  expect(rows.map(({ role }) => role)).toEqual(parts.map((part) => `eligo_${installation}_${part}`));
});

async function start(name: string, database: string, split = false): Promise<Stack> {
  const home = join(folder, name);
  homes.add(home);
  const file = join(folder, `url-of-${name}`);
  writeFileSync(file, urlOf(database), { mode: 0o600 });
  const stack = await startStack({
    ...{ home, split, port: await freePort() },
    environment: {
      ...{ ...process.env, ELIGO_ENV: 'test', LOG_LEVEL: 'warn' },
      // By a file, as secrets are mounted.
      ...{ DATABASE_URL: '', DATABASE_URL_FILE: file, NATS_URL: '' },
    },
  });
  installations.add(stack.installation);
  stacks.push(stack);
  return stack;
}

async function answers({ url, demo }: Stack): Promise<number> {
  return (await fetch(`${url}/v1/shipping_rates`, { headers: { authorization: `Bearer ${demo.testApiKey}` } })).status;
}

function urlOf(database: string): string {
  const url = new URL(testPostgresUrl());
  url.pathname = `/${database}`;
  return url.href;
}

function newName(): string {
  return `installations_${randomBytes(6).toString('hex')}`;
}
