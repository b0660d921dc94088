import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { type Constellation, startConstellation, type Topology, testHome } from '../src/index.ts';
import { logTails, tellLogsOf } from '../src/log-tails.ts';

// Whole stacks are started here, some of them twice, beside another worker's tests.
vi.setConfig({ testTimeout: 120_000 });

let constellation: Constellation | undefined;

afterEach(async () => {
  await constellation?.stop();
  constellation = undefined;
});

async function start(topology: Topology): Promise<Constellation> {
  constellation = await startConstellation({ topology });
  return constellation;
}

const rate = { shipping_rate: { display_name: 'Ground', amount: 500 } };

async function answers(running: Constellation): Promise<void> {
  await expect(running.api().post('/v1/shipping_rates', rate)).resolves.toMatchObject({ status: 200, body: rate });
  await expect(running.sandbox('GET', '/sandbox/charges')).resolves.toEqual({ data: [] });
}

it('answers by the public interface in process', async () => {
  await answers(await start('in-process'));
});

it('answers by the public interface all-in-one, and keeps what was written when it is killed and started again', async () => {
  const running = await start('all-in-one');
  await answers(running);
  running.kill('gateway');
  await running.recovered();
  const list = await running.api().ok('GET', '/v1/shipping_rates');
  expect(list.shipping_rates).toMatchObject([rate.shipping_rate]);
});

it('answers by the public interface split, and starts a service again that was killed alone', async () => {
  const running = await start('split');
  await answers(running);
  const before = running.processes().find(({ name }) => name === 'catalog')?.pid;
  running.kill('catalog');
  await running.recovered();
  expect(running.processes().find(({ name }) => name === 'catalog')?.pid).not.toBe(before);
  await answers(running);
});

it('gives the ends of the logs of the constellations that run, for the message of a failed test', () => {
  const home = testHome('logs');
  const forget = tellLogsOf(home);
  const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at}`);
  writeFileSync(join(home.logs, 'catalog.log'), `${lines.join('\n')}\n`);
  writeFileSync(join(home.logs, 'nats.log'), 'of a server\n');
  const told = logTails().split('\n');
  expect(told[0]).toBe('--- the end of catalog.log:');
  // The first line may be a part of one.
  expect(told.slice(2)).toEqual(lines.slice(2 - told.length));
  expect(told.length).toBeGreaterThan(1_000);
  expect(told.length).toBeLessThan(2_000);
  forget();
  expect(logTails()).toBe('');
  home.remove();
});
