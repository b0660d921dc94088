import { afterEach, expect, it, vi } from 'vitest';
import { type Constellation, startConstellation, type Topology } from '../src/index.ts';

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

for (const topology of ['in-process', 'all-in-one', 'split'] as const) {
  it(`answers by the public interface, ${topology}`, async () => {
    const { api, sandbox } = await start(topology);
    const created = await api().post('/v1/shipping_rates', rate);
    expect(created).toMatchObject({ status: 200, body: rate });
    await expect(sandbox('GET', '/sandbox/charges')).resolves.toEqual({ data: [] });
  });
}

it('keeps what was written when the all-in-one is killed and started again', async () => {
  const running = await start('all-in-one');
  await running.api().ok('POST', '/v1/shipping_rates', { body: rate });
  running.kill('gateway');
  await running.recovered();
  const list = await running.api().ok('GET', '/v1/shipping_rates');
  expect(list.shipping_rates).toMatchObject([rate.shipping_rate]);
});

it('starts a service again that was killed alone', async () => {
  const running = await start('split');
  const before = running.processes().find(({ name }) => name === 'catalog')?.pid;
  running.kill('catalog');
  await running.recovered();
  expect(running.processes().find(({ name }) => name === 'catalog')?.pid).not.toBe(before);
  await expect(running.api().post('/v1/shipping_rates', rate)).resolves.toMatchObject({ status: 200 });
});
