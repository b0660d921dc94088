import { connect } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { freePort } from '@eligo/ports';
import { createLogger } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;
beforeAll(async () => {
  stack = await openTestGateway();
});
afterAll(() => stack?.stop());

test('each request is one line of the log that names who asked for what, and how it ended, and nothing of its contents [D14.220]', async () => {
  const { api, accountId } = stack;
  const priceId = stack.peers.samples.price.priceId;
  const lineOf = (answer: { headers: Headers }) =>
    stack.log.map((line) => JSON.parse(line)).filter((line) => line.requestId === answer.headers.get('request-id'));
  const read = await api.get(`/v1/prices/${priceId}`);
  const common = { level: 'info', service: 'gateway', accountId, testMode: true, keyId: api.keyId };
  const msg = 'Request completed';
  expect(lineOf(read)).toEqual([
    {
      ...{ ...common, msg, route: 'prices.get', status: 200, recordId: priceId },
      ...{
        time: expect.any(String),
        pid: process.pid,
        requestId: expect.any(String),
        durationMs: expect.any(Number),
      },
    },
  ]);
  const made = await api.post('/v1/coupons', { coupon: { amount_off: 500, name: 'Ten Dollars Off' } });
  expect(lineOf(made)).toEqual([
    expect.objectContaining({ ...common, msg, recordId: expect.stringMatching(/^fcoup/) }),
  ]);
  const refused = await api.get(`/v1/prices/${newId('price')}`);
  expect(lineOf(refused)).toEqual([
    expect.objectContaining({ ...common, msg, status: 404, code: 'price_not_found', route: 'prices.get' }),
  ]);
  const unknown = await api.get('/v1/prices/ada@example.com');
  expect(lineOf(unknown)).toEqual([expect.not.objectContaining({ recordId: expect.anything() })]);
  const keyless = await fetch(`${stack.url}/v1/prices`);
  expect(lineOf(keyless)).toEqual([expect.objectContaining({ msg, status: 401, code: 'unauthorized' })]);
  // Probes ask every few seconds.
  expect(lineOf(await fetch(`${stack.url}/healthz`))).toEqual([expect.objectContaining({ level: 'debug' })]);
  expect(stack.log.join('')).not.toMatch(/Ten Dollars|ada@example/);
});

test('a request that is refused because a service is away leaves a line with the reason, which its answer does not have [D14.272]', async () => {
  const { api, peers } = stack;
  peers.answer('listCoupons', () => {
    throw new ConnectError('round_robin: No connection established', Code.Unavailable);
  });
  onTestFinished(() => peers.restore());
  const refused = await api.get('/v1/coupons');
  expect(refused).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
  expect(refused.text).not.toContain('round_robin');
  const lines = stack.log.map((line) => JSON.parse(line));
  const requestId = refused.headers.get('request-id');
  expect(lines.filter((line) => line.requestId === requestId && line.level === 'warn')).toEqual([
    expect.objectContaining({
      route: 'coupons.list',
      msg: 'Request refused because a dependency is unavailable',
      err: expect.objectContaining({
        cause: expect.objectContaining({ message: expect.stringContaining('No connection established') }),
      }),
    }),
  ]);
});

test('the gateway logs Started once its port and its admin port accept connections [D14.220]', async () => {
  const ports = [await freePort(), await freePort()];
  const accepted: Promise<boolean>[] = [];
  const write = (line: string) => {
    if (JSON.parse(line).msg === 'Started') accepted.push(...ports.map(accepts));
  };
  await stack.another(
    { PORT: String(ports[0]), ADMIN_PORT: String(ports[1]) },
    createLogger({ service: 'gateway', destination: { write } }),
  );
  expect(await Promise.all(accepted)).toEqual([true, true]);
});

/** Whether a connection that is begun now succeeds. */
function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
