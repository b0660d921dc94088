import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@eligo/ports';
import { apiClient, waitUntil } from '@eligo/testkit';
import { afterAll, expect, it, vi } from 'vitest';
import { homeAt } from '../src/home.ts';
import { removeHome } from '../src/postgres/remove.ts';
import type { StackFile } from '../src/stack-file.ts';
import { eligo, eligoSucceeds, killAll, npmStart, type Run, ready, stackFileOf, stop } from './support/npm-start.ts';
import { sellIn } from './support/sales.ts';

// A start in many processes costs some ten seconds of processor time.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const itOfLongRun = process.env.ELIGO_TEST_LONG === 'on' ? it : undefined;

const folder = mkdtempSync(join(tmpdir(), 'eligo-split-'));
const kept = { folder: join(folder, 'backup'), secretsFile: join(folder, 'secrets.backup') };
const homes = [homeAt(join(folder, 'home')), homeAt(join(folder, 'restored'))] as const;
const runs: Run[] = [];
const sold: string[] = [];

afterAll(() => {
  for (const { npm } of runs) npm.kill('SIGTERM');
  for (const home of homes) removeHome(home);
  rmSync(folder, { recursive: true, force: true });
});

async function start(home: (typeof homes)[number]): Promise<Run> {
  const run = npmStart(home, await freePort(), { args: '--split --replicas checkout=2' });
  runs.push(run);
  await ready(run);
  return run;
}

async function sell(file: StackFile): Promise<void> {
  const sales = sellIn(file);
  await waitUntil(() => sales.confirmed.length > 2, { what: 'sales' }).finally(() => sales.stop());
  sold.push(...sales.confirmed);
}

async function hasWhatWasSold({ home }: Run): Promise<void> {
  const { gateway, test_api_key: key } = stackFileOf(home);
  const api = apiClient(gateway, key);
  for (const id of sold) {
    expect(await api.ok('GET', `/v1/checkout/sessions/${id}`)).toMatchObject({
      checkout_session: { status: 'complete' },
    });
  }
  await eligoSucceeds(home, 'ledger', 'check');
  await eligoSucceeds(home, 'events', 'missing');
}

it('starts each service in a process of its own, as many of one as asked, and sells [D14.210]', async () => {
  const run = await start(homes[0]);
  const file = stackFileOf(run.home);
  const names = ['billing', 'catalog', 'checkout', 'checkout-2', 'gateway', 'refunds', 'webhooks'];
  expect(file.processes.map(({ name }) => name).sort()).toEqual([...names, 'nats', 'postgres', 'sandbox'].sort());
  expect(new Set(file.processes.map(({ pid }) => pid)).size).toBe(file.processes.length);
  await sell(file);
});

itOfLongRun?.(
  'serves within five seconds with everything that was sold when all its processes were killed',
  async () => {
    await killAll(runs[0] as Run);
    const startedAt = performance.now();
    const run = await start(homes[0]);
    const recoveredMs = Math.round(performance.now() - startedAt);
    console.log(`recovered in ${recoveredMs} ms`);
    expect(recoveredMs).toBeLessThan(5_000);
    await hasWhatWasSold(run);
  },
);

itOfLongRun?.('has it after a restore of a backup made while it served, too [D14.211]', async () => {
  const [first, restored] = homes;
  await eligo(first, 'backup', '--to', kept.folder, '--secrets', kept.secretsFile);
  await stop(runs[1] as Run);
  await eligo(restored, 'restore', '--from', kept.folder, '--secrets', kept.secretsFile);
  await hasWhatWasSold(await start(restored));
});
