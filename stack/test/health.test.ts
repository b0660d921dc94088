import { createServer } from 'node:http';
import { freePort } from '@eligo/ports';
import { expect, onTestFinished, test } from 'vitest';
import type { Child } from '../src/children/child.ts';
import { becameHealthy, reachesAll } from '../src/health.ts';

test('a gateway that serves is waited for until it reaches every service', async () => {
  const states = [
    { status: 503, checks: { services: 'failed' } },
    { status: 200, checks: { catalog: 'ok', webhooks: 'failed', disk: 'ok' } },
    { status: 200, checks: { catalog: 'ok', webhooks: 'ok', disk: 'failed' } },
  ];
  const asked: number[] = [];
  const port = await freePort();
  const server = createServer((_, answer) => {
    const { status = 500, ...body } = states[Math.min(asked.length, 2)] ?? {};
    asked.push(status);
    answer.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const child = { name: 'gateway', hasEnded: () => false } as Child;
  const url = `http://127.0.0.1:${port}/readyz`;
  await becameHealthy(child, url, () => '');
  expect(asked).toEqual([503, 200]);
  asked.length = 1;
  await reachesAll(child, url, ['catalog', 'webhooks'], () => '');
  expect(asked).toEqual([503, 200, 200]);
});

test('a gateway reaches a service that serves and is degraded, and not one that is not ready [D14.392]', async () => {
  const checks = { catalog: 'degraded', webhooks: 'failed' };
  const states = [{ checks }, { checks: { ...checks, webhooks: 'ok' } }];
  let asked = 0;
  const port = await freePort();
  const server = createServer((_, answer) => {
    answer.end(JSON.stringify(states[Math.min(asked, 1)]));
    asked += 1;
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const child = { name: 'gateway', hasEnded: () => false } as Child;
  await reachesAll(child, `http://127.0.0.1:${port}/readyz`, ['catalog', 'webhooks'], () => '');
  expect(asked).toBe(2);
});
