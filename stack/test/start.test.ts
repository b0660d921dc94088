import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOldServer } from '@eligo/events';
import { freePort } from '@eligo/ports';
import { apiClient, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { backUp } from '../src/backup/back-up.ts';
import { restore } from '../src/backup/restore.ts';
import { homeAt } from '../src/home.ts';
import { findNatsServer } from '../src/nats/find-server.ts';
import { removeHome } from '../src/postgres/remove.ts';
import { generateSecrets, secretsOf } from '../src/secrets.ts';
import type { StackFile } from '../src/stack-file.ts';
import {
  eligo,
  eligoSucceeds,
  fromGatewayToNpm,
  isGone,
  killAll,
  killStack,
  npmStart,
  type Run,
  ready,
  stackFileOf,
  stop,
} from './support/npm-start.ts';
import { sellIn } from './support/sales.ts';

// The whole stack is started five times here.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const isLong = process.env.ELIGO_TEST_LONG === 'on';
// A further start of the stack costs ten seconds of processor time.
const itOfLongRun = isLong ? it : undefined;

const folder = mkdtempSync(join(tmpdir(), 'eligo-start-'));
const firstHome = homeAt(join(folder, 'home'));
const restoredHome = homeAt(join(folder, 'restored'));
let home = firstHome;
const runs: Run[] = [];
let latest: Run;
let port: number;

beforeAll(async () => {
  port = await freePort();
});

afterAll(() => {
  for (const { npm } of runs) npm.kill('SIGTERM');
  removeHome(firstHome);
  removeHome(restoredHome);
  rmSync(folder, { recursive: true, force: true });
});

function start(on = port): Run {
  latest = npmStart(home, on);
  runs.push(latest);
  return latest;
}

async function listRates({ gateway, test_api_key: key }: StackFile): Promise<number> {
  return (await fetch(`${gateway}/v1/shipping_rates`, { headers: { authorization: `Bearer ${key}` } })).status;
}

const drainDelayMs = 2_000;
/** How long the first start took here: how fast the machine is beside what else it does. */
let firstStartMs = 0;

it('says where it is and with which keys, and writes stack.json for its owner alone; its demo account issues receipts to a folder that it names [RUN-1, D14.328]', async () => {
  vi.stubEnv('ELIGO_DRAIN_DELAY_MS', String(drainDelayMs));
  const startedAt = performance.now();
  const run = start();
  vi.unstubAllEnvs();
  const file = await ready(run);
  firstStartMs = performance.now() - startedAt;
  expect(file).toMatchObject({
    gateway: `http://127.0.0.1:${port}`,
    processor: expect.stringMatching(/^http:/),
    processor_key: expect.stringMatching(/^sk_test_/),
    postgres: expect.stringMatching(/^postgres:/),
    nats: expect.stringMatching(/^nats:/),
    account: expect.stringMatching(/^facct_/),
    test_api_key: expect.stringMatching(/^fsk_test_/),
    live_api_key: expect.stringMatching(/^fsk_/),
  });
  expect(file.processes.map(({ name }) => name).sort()).toEqual(
    ['billing', 'catalog', 'checkout', 'gateway', 'nats', 'postgres', 'refunds', 'sandbox', 'webhooks'].sort(),
  );
  expect(statSync(home.stackFile).mode & 0o777).toBe(0o600);
  expect(statSync(home.secretsFile).mode & 0o777).toBe(0o600);
  for (const key of [file.test_api_key, file.live_api_key, 'curl -s']) expect(run.said()).toContain(key);
  expect(await listRates(file)).toBe(200);
  // A fresh start issues receipts, and says where to read them.
  expect(file.mail_folder).toBe(home.mail);
  expect(run.said()).toContain(`  mails      ${home.mail} (receipts and notices, a file each; nothing is sent)`);
  const { accounts } = JSON.parse(await eligo(home, 'accounts', 'list', '--json')) as {
    accounts: { account_id: string; features: string[] }[];
  };
  expect(accounts.find(({ account_id }) => account_id === file.account)?.features).toContain('receipts');
  const version = spawnSync(await findNatsServer(home.bin, () => undefined), ['--version'], {
    encoding: 'utf8',
  }).stdout;
  expect(run.said().includes('or newer in production')).toBe(isOldServer(version));
});

it('keeps no process between npm and the stack that only waits', () => {
  // The stack, npm's own shell, and a stand-in for npm.
  expect(fromGatewayToNpm(latest)).toHaveLength(3);
});

it('refuses a second start in the same home, in words', async () => {
  const second = npmStart(home, await freePort());
  // Also what it said last has been read.
  expect((await once(second.npm, 'close'))[0]).toBe(1);
  expect(second.said()).toContain(`A stack is already running in ${home.root}`);
});

it('stops everything when npm is stopped, although npm forwards no signal, after one drain delay for all its parts [D14.210]', async () => {
  const startedAt = performance.now();
  await stop(latest);
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThan(drainDelayMs - 100);
  // Six delays, one after the other, take 12 s.
  expect(tookMs).toBeLessThan(5 * drainDelayMs);
});

it('serves although nothing that it says can be written, also after NATS was killed [D14.137]', async () => {
  const earlier = stackFileOf(home);
  const full = openSync('/dev/full', 'w');
  latest = npmStart(home, port, { output: full });
  runs.push(latest);
  closeSync(full);
  const natsOf = ({ processes }: StackFile) => processes.find(({ name }) => name === 'nats')?.pid ?? 0;
  // It cannot say that it is ready: its file is written when it is.
  const next = async (before: StackFile) => {
    const isNext = () => latest.npm.exitCode !== null || natsOf(stackFileOf(home)) !== natsOf(before);
    await waitUntil(isNext, { withinMs: 180_000, what: 'a new process of NATS' });
    return stackFileOf(home);
  };
  const file = await next(earlier);
  expect(await listRates(file)).toBe(200);
  process.kill(natsOf(file), 'SIGKILL');
  const after = await next(file);
  expect(latest.npm.exitCode).toBe(null);
  expect(await listRates(after)).toBe(200);
});

it('keeps its keys and data when all its processes are killed, and stops what they left running', async () => {
  const before = stackFileOf(home);
  await killStack(latest);
  const orphans = before.processes.filter(({ name }) => name === 'postgres' || name === 'nats');
  expect(orphans.map(isGone)).toEqual([false, false]);

  const { again, after } = await recovered();
  expect(again.said()).toMatch(/stopped processes left by an earlier run: .*postgres/);
  expect(orphans.map(isGone)).toEqual([true, true]);
  expect(after.test_api_key).toBe(before.test_api_key);
  expect(await listRates(after)).toBe(200);
});

itOfLongRun?.('serves within five seconds on its data when Postgres and NATS are killed with it', async () => {
  const before = stackFileOf(home);
  await killAll(latest);
  const { after } = await recovered();
  expect(after.test_api_key).toBe(before.test_api_key);
  expect(await listRates(after)).toBe(200);
});

/** Starts the stack again on its data. On two cores without other work it serves after some 2.5 s; the long form holds the goal of five. */
async function recovered(): Promise<{ again: Run; after: StackFile }> {
  const startedAt = performance.now();
  const again = start();
  const after = await ready(again);
  const recoveredMs = Math.round(performance.now() - startedAt);
  console.log(`recovered in ${recoveredMs} ms, after a first start in ${Math.round(firstStartMs)}`);
  // In the short run other tests take the processors. Where they slow all down, a recovery still takes less than the first start, which makes the database.
  expect(recoveredMs).toBeLessThan(isLong ? 5_000 : Math.max(20_000, firstStartMs));
  return { again, after };
}

const soldBefore: string[] = [];
const kept = { folder: join(folder, 'backup'), secretsFile: join(folder, 'secrets.backup') };

it('backs up a stack that serves, its data and its secrets apart, each for its owner alone [D14.211]', async () => {
  const file = stackFileOf(home);
  const sales = sellIn(file);
  await waitUntil(() => sales.confirmed.length > 2, { what: 'sales' });
  soldBefore.push(...sales.confirmed);
  await eligo(home, 'backup', '--to', kept.folder, '--secrets', kept.secretsFile).finally(() => sales.stop());
  const soldMeanwhile = sales.confirmed.length - soldBefore.length;
  expect(soldMeanwhile).toBeGreaterThan(0);
  expect(await eligo(home, 'audit', 'list', '--service', 'gateway')).toMatch(/user \S+ .*\bbackup\b/);
  expect(statSync(kept.folder).mode & 0o777).toBe(0o700);
  expect(statSync(kept.secretsFile).mode & 0o777).toBe(0o600);
  const { keyring } = secretsOf(home);
  expect(readFileSync(kept.secretsFile, 'utf8')).toContain(keyring);
  expect(spawnSync('grep', ['-rlF', keyring, kept.folder], { encoding: 'utf8' }).stdout).toBe('');
  await expect(backUp(home, file, kept)).rejects.toThrow('exists; choose another name');

  await stop(latest);
  expect(readFileSync(join(home.logs, 'eligo.log'), 'utf8')).not.toContain(file.test_api_key);
});

it('restores only a whole backup with its own secrets into an empty home [D14.211]', async () => {
  await expect(restore(home.root, kept)).rejects.toThrow('restore into an empty home');
  home = restoredHome;
  await expect(restore(home.root, { ...kept, folder })).rejects.toThrow('not a whole backup');
  const secretsFile = join(folder, 'other-secrets');
  writeFileSync(secretsFile, JSON.stringify({ secrets: generateSecrets() }));
  await expect(restore(home.root, { ...kept, secretsFile })).rejects.toThrow('are not those of this backup');
  expect(existsSync(home.root)).toBe(false);
  await eligo(home, 'restore', '--from', kept.folder, '--secrets', kept.secretsFile);
});

it('has after a restore what was sold before the backup, books that agree and no event missing [D14.211]', async () => {
  const file = await ready(start());
  const api = apiClient(file.gateway, file.test_api_key);
  for (const id of soldBefore) {
    expect(await api.ok('GET', `/v1/checkout/sessions/${id}`)).toMatchObject({
      checkout_session: { status: 'complete' },
    });
  }
  await eligoSucceeds(home, 'ledger', 'check');
  await eligoSucceeds(home, 'events', 'missing');
});

it('exits when NATS has shut its components out for good, so that a supervisor restarts it', async () => {
  const run = latest;
  const file = stackFileOf(home);
  const configuration = join(home.nats, 'nats.conf');
  writeFileSync(configuration, readFileSync(configuration, 'utf8').replaceAll(/(password: "p)/g, '$1x'));
  process.kill(file.processes.find(({ name }) => name === 'nats')?.pid ?? 0, 'SIGKILL');
  await waitUntil(() => run.npm.exitCode !== null, { withinMs: 60_000, what: 'the end of the stack' });
  expect(run.npm.exitCode).toBe(1);
  await waitUntil(() => run.said().includes('a component failed'), { what: 'why the stack ended' });
  await waitUntil(() => file.processes.every(isGone), { withinMs: 60_000, what: 'the end of every process' });
});
