import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@eligo/ports';
import { type Api, apiClient, waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { homeAt, loadCompositions, makeHome, prepareDatabase, type Stack, startStack } from '../src/index.ts';
import { ensureDatabase } from '../src/postgres/database.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { type PostgresServer, startPostgres } from '../src/postgres/server.ts';
import { secretsOf } from '../src/secrets.ts';
import { documentedBlocks } from './support/documented.ts';
import { findPostgresClient } from './support/find-postgres-client.ts';
import { eligo, eligoSucceeds, stackFileOf } from './support/npm-start.ts';
import { sellAndRefund } from './support/sales.ts';
import { startWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.ts';

// Three servers and three stacks, one after the other.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const client = await findPostgresClient();
const folder = mkdtempSync(join(tmpdir(), 'eligo-dumps-'));
const homes = { first: homeAt(join(folder, 'first')), containers: homeAt(join(folder, 'containers')) };
const servers = new Map<string, PostgresServer>();
const [dumpOfContainers = [], restoreOfContainers = []] = documentedBlocks(
  'operations.md',
  '**Containers**: ',
  '**Your own',
);
const [dumpOfOwn = [], restoreOfOwn = []] = documentedBlocks(
  'operations.md',
  '**Your own Postgres**',
  '**JetStream lost',
);
/** The two ways of docs/operations.md to deal with streams that are newer than the database. A further start of the stack costs ten seconds of processor time. */
const ways: ['deleted before the start' | 'rebuilt after it', 'deleted' | 'rebuilt'][] =
  process.env.ELIGO_TEST_LONG === 'on' ? [['rebuilt after it', 'rebuilt']] : [['deleted before the start', 'deleted']];
let stack: Stack | undefined;
let receiver: WebhookReceiver;
let secret: string;
const sold: string[] = [];

beforeEach(({ skip }) => {
  if ('missing' in client) skip(`needs the client programs of Postgres 18 (${client.missing})`);
});

beforeAll(async () => {
  if ('missing' in client) return;
  receiver = await startWebhookReceiver();
  const home = makeHome(homes.first.root);
  const adminUrl = await ensureDatabase((await startServer('first')).url, 'eligo');
  // As the compose file's service `migrate` does it: an installation without a name.
  const { migrations } = await loadCompositions();
  await prepareDatabase({ adminUrl, passwords: secretsOf(home).databasePasswords, migrations });
  const api = await startOn('first', homes.first);
  const events = ['checkout.session.completed', 'checkout.session.refunded'];
  const answer = await api.ok('POST', '/v1/webhooks', { body: { webhook: { url: receiver.url, events } } });
  secret = (answer.webhook as { signing_secret: string }).signing_secret;
  sold.push(await sell());
});

afterEach(async () => {
  await stack?.stop();
  stack = undefined;
});

afterAll(async () => {
  await receiver?.close();
  for (const { process } of servers.values()) await process.stop(5_000);
  for (const home of Object.values(homes)) removeHome(home);
  for (const name of servers.keys()) removeHome(serverHome(name));
  rmSync(folder, { recursive: true, force: true });
});

it('dumps the database and its roles by the documented commands, while partners write [D14.369]', async () => {
  const writes = writeCustomers();
  await run(dumpOfContainers, insideOf('first'));
  await run(dumpOfOwn, { DATABASE_URL: databaseOf('first') });
  await waitUntil(() => writes.made() > 0, { what: 'customers' });
  await writes.stop();
  const { stdout } = await run(['gunzip < eligo.sql.gz | tail -n 5'], {});
  expect(stdout).toContain('-- PostgreSQL database cluster dump complete\n');
  // Its sandbox knows what it charged.
  cpSync(homes.first.sandbox, join(folder, 'sandbox'), { recursive: true });
});

it('restores the dump of containers on an empty server, with two errors that do no harm, and on an empty NATS the books agree, no event is missing, and it sells [D14.369]', async () => {
  const home = makeHome(homes.containers.root);
  copyFileSync(homes.first.secretsFile, home.secretsFile);
  copyFileSync(join(homes.first.root, 'demo.json'), join(home.root, 'demo.json'));
  cpSync(join(folder, 'sandbox'), home.sandbox, { recursive: true });
  const steps: [RegExp, (line: string) => Promise<unknown>][] = [
    // The volumes are those of the first server and its NATS, which is not in this home.
    [/^docker (?:compose down|volume rm eligo_postgres eligo_nats)$/, async () => undefined],
    [
      /^docker compose up --detach --wait postgres$/,
      async () => ensureDatabase((await startServer('containers')).url, 'eligo'),
    ],
    [
      / psql /,
      async (line) => {
        const { stderr } = await run([line], insideOf('containers'));
        expect(stderr.split('\n').filter((text) => text.includes('ERROR:'))).toEqual([
          expect.stringMatching(/ERROR: {2}current user cannot be dropped$/),
          expect.stringMatching(/ERROR: {2}role "postgres" already exists$/),
        ]);
      },
    ],
    [/^docker compose up --detach$/, () => startOn('containers', home)],
    [/^docker compose run --rm cli /, (line) => eligoSucceeds(home, ...line.split(' ').slice(5))],
  ];
  for (const line of restoreOfContainers) {
    const step = steps.find(([pattern]) => pattern.test(line));
    await (step?.[1](line) ?? expect.fail(`"${line}" is not carried out`));
  }
  await hasAndSells();
});

it.each(ways)(
  'restores the dump of an own Postgres without an error, and with streams that are newer and %s, the books agree, no event is missing, and it sells [D14.217, D14.369]',
  async (_what, way) => {
    const { url: SERVER_URL } = await startServer(way);
    const { stdout, stderr } = await run(restoreOfOwn, { SERVER_URL });
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
    if (way === 'deleted') rmSync(join(homes.first.nats, 'jetstream'), { recursive: true });
    await startOn(way, homes.first);
    if (way === 'rebuilt') {
      await eligo(homes.first, 'events', 'rebuild-streams');
      const repairs = () => eligo(homes.first, 'events', 'repairs');
      await waitUntil(async () => (await repairs()).includes('missing'), { what: 'the repairs' });
    }
    await eligoSucceeds(homes.first, 'ledger', 'check');
    await eligoSucceeds(homes.first, 'events', 'missing');
    await hasAndSells();
  },
);

/** What was sold before the dump is there, and a new sale's webhook is signed with the secret from before it. No delivery comes twice. */
async function hasAndSells(): Promise<void> {
  const api = apiOf(stack ?? expect.fail('no stack runs'));
  for (const id of sold) {
    expect(await api.ok('GET', `/v1/checkout/sessions/${id}`)).toMatchObject({
      checkout_session: { status: 'complete', amount_refunded: 1_000 },
    });
  }
  await sell();
  expect(new Set(receiver.ids).size).toBe(receiver.ids.length);
}

async function sell(): Promise<string> {
  const session = await sellAndRefund(stackFileOf((stack ?? expect.fail('no stack runs')).home));
  await receiver.came('checkout.session.completed', session, secret);
  await receiver.came('checkout.session.refunded', session, secret);
  return session;
}

async function startServer(name: string): Promise<PostgresServer> {
  // The data is removed with the test.
  const settings = { fsync: 'off', full_page_writes: 'off' };
  const password = secretsOf(homes.first).postgresPassword;
  const server = await startPostgres(makeHome(serverHome(name).root), { password, settings, onTrouble: console.error });
  servers.set(name, server);
  return server;
}

function serverHome(name: string) {
  return homeAt(join(folder, `server-${name}`));
}

async function startOn(server: string, home: ReturnType<typeof homeAt>): Promise<Api> {
  stack = await startStack({
    home: home.root,
    port: await freePort(),
    environment: {
      ...process.env,
      ELIGO_ENV: 'test',
      LOG_LEVEL: 'warn',
      DATABASE_URL: databaseOf(server),
      NATS_URL: '',
    },
  });
  return apiOf(stack);
}

function apiOf({ url, demo }: Stack): Api {
  return apiClient(url, demo.testApiKey);
}

function databaseOf(server: string): string {
  const url = new URL(servers.get(server)?.url ?? expect.fail(`there is no server ${server}`));
  url.pathname = '/eligo';
  return url.href;
}

/** What a program finds in the container of a server, where it needs neither an address nor a password. */
function insideOf(server: string) {
  const { hostname, port, password } = new URL(databaseOf(server));
  return { PGHOST: hostname, PGPORT: port, PGPASSWORD: password };
}

/** Runs documented commands. For a container engine stands a program that runs here what would run inside. */
function run(lines: readonly string[], variables: Readonly<Record<string, string>>) {
  const programs = join(folder, 'programs');
  mkdirSync(programs, { recursive: true });
  // docker compose exec -T postgres PROGRAM …
  writeFileSync(join(programs, 'docker'), '#!/bin/sh\nshift 4\nexec "$@"\n', { mode: 0o755 });
  const PATH = [programs, 'folder' in client ? client.folder : '', process.env.PATH].join(delimiter);
  const options = { cwd: folder, env: { ...process.env, PATH, ...variables } };
  return promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines.join('\n')], options);
}

/** Creates customers, one after the other: each is an event. */
function writeCustomers() {
  const api = apiOf(stack ?? expect.fail('no stack runs'));
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
