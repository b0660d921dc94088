import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@eligo/ports';
import { roleNames } from '@eligo/postgres';
import { type Api, apiClient, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { componentNames } from '../src/components.ts';
import { type Home, homeAt, makeHome } from '../src/home.ts';
import { ensureDatabase } from '../src/postgres/database.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { type PostgresServer, startPostgres } from '../src/postgres/server.ts';
import { secretsOf } from '../src/secrets.ts';
import { documentedBlocks, documentedText } from './support/documented.ts';
import { findPostgresClient, postgresRelease } from './support/find-postgres-client.ts';
import { eligo, eligoSucceeds, npmStart, type Run, ready, stackFileOf, stop } from './support/npm-start.ts';
import { sellAndRefund } from './support/sales.ts';

// A start beside other tests.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const itOfLongRun = process.env.ELIGO_TEST_LONG === 'on' ? it : undefined;

const client = await findPostgresClient();
const needs = `the client programs of Postgres ${postgresRelease}`;
const title = `the documented dumps, which need ${needs}${'missing' in client ? ` (${client.missing})` : ''}`;

const ofContainers = ['operations.md', '**Containers**: ', '**Your own'] as const;
const ofOwn = ['operations.md', '**Your own Postgres**', '**JetStream lost'] as const;
const [dumpOfContainers = [], restoreOfContainers = []] = documentedBlocks(...ofContainers);
/** From here on Eligo starts. */
const startLine = restoreOfContainers.indexOf('docker compose up --detach');
const [dumpOfOwn = [], restoreOfOwn = []] = documentedBlocks(...ofOwn);

/** One database goes both ways: it is dumped and restored as that of containers, and then as an operator's own. Eligo starts on the last copy. */
describe.skipIf('missing' in client)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-dumps-'));
  const homeIn = (name: string) => homeAt(join(folder, name));
  const homes = { first: homeIn('first'), server: homeIn('server'), restored: homeIn('restored') };
  let server: PostgresServer;
  let latest: Run | undefined;
  let receiver: Receiver;
  let secret: string;
  let sold: string;

  beforeAll(async () => {
    receiver = await startReceiver();
    const api = await start(homes.first);
    const events = ['checkout.session.completed', 'checkout.session.refunded'];
    const answer = await api.ok('POST', '/v1/webhooks', { body: { webhook: { url: receiver.url, events } } });
    secret = (answer.webhook as { signing_secret: string }).signing_secret;
    sold = await sell();
  });

  afterAll(async () => {
    try {
      if (latest !== undefined) await stop(latest);
    } finally {
      await receiver?.close();
      await server?.process.stop(5_000);
    }
    for (const home of Object.values(homes)) removeHome(home);
    rmSync(folder, { recursive: true, force: true });
  });

  it('writes the database of containers with its roles, while partners write [D14.369]', async () => {
    const writes = writeCustomers(apiOf(homes.first));
    await waitUntil(() => writes.made() > 0, { what: 'a customer' });
    await run(dumpOfContainers, insideOf(stackFileOf(homes.first).postgres));
    const madeMeanwhile = writes.made();
    await waitUntil(() => writes.made() > madeMeanwhile, { what: 'a customer that the dump does not have' });
    await writes.stop();
    const { stdout } = await run(['gunzip < eligo.sql.gz | tail -n 5'], {});
    expect(stdout).toContain('-- PostgreSQL database cluster dump complete\n');
    // Its sandbox knows what it charged.
    cpSync(homes.first.sandbox, join(folder, 'sandbox'), { recursive: true });
    await stopLatest();
  });

  it('restores it on an empty server, with two errors that do no harm [D14.369]', async () => {
    await carryOut(restoreOfContainers.slice(0, startLine), [
      // The volumes are those of the first server and of its NATS.
      [/^docker (?:compose down|volume rm eligo_postgres eligo_nats)$/, async () => undefined],
      [/^docker compose up --detach --wait postgres$/, startServer],
      [/ psql /, async (line) => onlyHarmless((await run([line], insideOf(databaseUrl()))).stderr)],
    ]);
  });

  it('writes that one as an operator’s own with its roles, and restores both without an error on a server that has neither [D14.369]', async () => {
    expect(documentedText(...ofOwn)).toMatch(new RegExp(needs.replaceAll(' ', '\\s+')));
    await run(dumpOfOwn, { DATABASE_URL: databaseUrl() });
    await restoreOwn();
  });

  it('leaves books that agree and no event missing with an empty NATS, and sells with the old secrets [D14.369]', async () => {
    const home = makeHome(homes.restored.root);
    copyFileSync(homes.first.secretsFile, home.secretsFile);
    copyFileSync(join(homes.first.root, 'demo.json'), join(home.root, 'demo.json'));
    cpSync(join(folder, 'sandbox'), home.sandbox, { recursive: true });
    await carryOut(restoreOfContainers.slice(startLine), [
      [/^docker compose up --detach$/, () => start(home, databaseUrl())],
      [/^docker compose run --rm cli /, (line) => eligoSucceeds(home, ...line.split(' ').slice(5))],
    ]);
    await hasAndSells(home);
  });

  itOfLongRun?.('does so beside newer streams after they are rebuilt, too [D14.217, D14.369]', async () => {
    await stopLatest();
    await restoreOwn();
    await start(homes.first, databaseUrl());
    await eligo(homes.first, 'events', 'rebuild-streams');
    const repairs = () => eligo(homes.first, 'events', 'repairs');
    await waitUntil(async () => (await repairs()).includes('missing'), { what: 'the repairs' });
    await eligoSucceeds(homes.first, 'ledger', 'check');
    await eligoSucceeds(homes.first, 'events', 'missing');
    await hasAndSells(homes.first);
  });

  /** What was sold before the dump is there, and a new sale's webhook is signed with the secret from before it. No delivery comes twice. */
  async function hasAndSells(home: Home): Promise<void> {
    expect(await apiOf(home).ok('GET', `/v1/checkout/sessions/${sold}`)).toMatchObject({
      checkout_session: { status: 'complete', amount_refunded: 1_000 },
    });
    await sell();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
  }

  async function sell(): Promise<string> {
    const session = await sellAndRefund(stackFileOf((latest ?? expect.fail('no stack runs')).home));
    for (const event of ['checkout.session.completed', 'checkout.session.refunded']) {
      const { raw, headers } = await receiver.next(event, (body) => JSON.stringify(body).includes(session));
      new Webhook(secret).verify(raw, headers);
    }
    return session;
  }

  /** Restores on the same server without what it has: another server costs one to two seconds of processor time. */
  async function restoreOwn(): Promise<void> {
    const { owner, finder, ofService } = roleNames('');
    const roles = [owner, finder, ...componentNames.map(ofService)];
    const dropped = ['drop database eligo', `drop role ${roles.join(', ')}`].map((text) => `--command="${text}"`);
    const SERVER_URL = server.url;
    await run([`psql --quiet --set=ON_ERROR_STOP=on --dbname="$SERVER_URL" ${dropped.join(' ')}`], { SERVER_URL });
    const { stdout, stderr } = await run(restoreOfOwn, { SERVER_URL });
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
  }

  async function start(home: Home, databaseUrl = ''): Promise<Api> {
    latest = npmStart(home, await freePort(), { databaseUrl });
    await ready(latest);
    return apiOf(home);
  }

  async function stopLatest(): Promise<void> {
    await stop(latest ?? expect.fail('no stack runs'));
    latest = undefined;
  }

  /** As the container makes it: with an empty database. */
  async function startServer(): Promise<void> {
    // With the same `.env`: the dump of containers has the superuser's password, too.
    const password = secretsOf(homes.first).postgresPassword;
    // The data is removed with the test.
    const settings = { fsync: 'off', full_page_writes: 'off' };
    server = await startPostgres(makeHome(homes.server.root), { password, settings, onTrouble: console.error });
    await ensureDatabase(server.url, 'eligo');
  }

  function databaseUrl(): string {
    const url = new URL(server.url);
    url.pathname = '/eligo';
    return url.href;
  }

  /** Runs documented commands. A program in place of the container engine runs here the commands meant for the container. */
  function run(lines: readonly string[], variables: Readonly<Record<string, string>>) {
    const programs = join(folder, 'programs');
    mkdirSync(programs, { recursive: true });
    // docker compose exec -T postgres PROGRAM …
    writeFileSync(join(programs, 'docker'), '#!/bin/sh\nshift 4\nexec "$@"\n', { mode: 0o755 });
    const PATH = [programs, 'folder' in client ? client.folder : '', process.env.PATH].join(delimiter);
    const options = { cwd: folder, env: { ...process.env, PATH, ...variables } };
    // Without --norc it may read the machine's settings, as for a remote shell.
    return promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', lines.join('\n')], options);
  }
});

type Step = readonly [pattern: RegExp, carryOut: (line: string) => Promise<unknown>];

async function carryOut(lines: readonly string[], steps: readonly Step[]): Promise<void> {
  for (const line of lines) {
    const [, step] = steps.find(([pattern]) => pattern.test(line)) ?? expect.fail(`"${line}" is not carried out`);
    await step(line);
  }
}

/** What a program finds in the container of a server, where it needs neither an address nor a password. */
function insideOf(url: string) {
  const { hostname, port, password } = new URL(url);
  return { PGHOST: hostname, PGPORT: port, PGPASSWORD: password };
}

function onlyHarmless(told: string): void {
  expect(told.split('\n').filter((text) => text.includes('ERROR:'))).toEqual([
    expect.stringMatching(/ERROR: {2}current user cannot be dropped$/),
    expect.stringMatching(/ERROR: {2}role "postgres" already exists$/),
  ]);
}

function apiOf(home: Home): Api {
  const { gateway, test_api_key } = stackFileOf(home);
  return apiClient(gateway, test_api_key);
}

/** Creates customers, one after the other: each is an event. */
function writeCustomers(api: Api) {
  let made = 0;
  let isOver = false;
  const running = (async () => {
    for (; !isOver; made += 1)
      await api.ok('POST', '/v1/customers', { body: { customer: { email: 'ada@example.com' } } });
  })();
  return {
    made: () => made,
    async stop() {
      isOver = true;
      await running;
    },
  };
}
