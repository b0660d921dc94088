import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type AdminServer, startAdminServer } from '../src/admin-server.ts';
import { createMetrics, readEnvironment } from '../src/index.ts';
import { readServiceSettings } from '../src/service-settings.ts';
import { catalogEnvironment } from './support.ts';

let admin: AdminServer;

beforeAll(async () => {
  const pages = {
    ready: async () => ({ ready: true, status: 'ok', checks: {} }) as const,
    ...{ metrics: createMetrics('catalog'), failpoints: true },
  };
  admin = await startAdminServer({ host: '127.0.0.1', port: 0, names: ['catalog.eligo.svc'] }, pages);
});
afterAll(() => admin.stop());

test.each([
  ['127.0.0.1:9001', 200],
  ['localhost:9001', 200],
  ['LOCALHOST.', 200],
  ['[::1]:9001', 200],
  ['10.0.0.7', 200],
  ['catalog:9001', 200],
  ['eligo.localhost', 200],
  ['Catalog.Eligo.svc:9001', 200],
  ['rebound.evil.example', 421],
  ['rebound.evil.example:9001', 421],
  ['127.0.0.1.evil.example', 421],
  ['localhost.evil.example', 421],
  ['catalog.eligo.svc.evil.example', 421],
  ['[evil.example]', 421],
  ['evil.example#127.0.0.1', 421],
])('the admin port answers a request for %s with %d, on every path [D14.218]', async (host, status) => {
  for (const path of ['/healthz', '/readyz', '/metrics']) expect(await statusOf({ host }, path)).toBe(status);
  expect(await statusOf({ host }, '/failpoints', 'GET')).toBe(status);
});

test('the admin port refuses a request that a page in a browser sends [D14.218]', async () => {
  expect(await statusOf({ host: '127.0.0.1', origin: 'http://evil.example' }, '/metrics')).toBe(403);
  expect(await statusOf({ host: 'localhost', origin: 'null' }, '/failpoints', 'POST')).toBe(403);
});

test('the admin port ends a request whose body comes in more than a thousand tiny chunks [D14.243]', async () => {
  const asked = Promise.withResolvers<void>();
  const pages = {
    // Never answers, as a call that waits for its body.
    ready: () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    },
    ...{ metrics: createMetrics('catalog'), failpoints: false },
  };
  const slow = await startAdminServer({ host: '127.0.0.1', port: 0, names: [] }, pages);
  onTestFinished(() => slow.stop());
  const socket = connect(slow.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
  await asked.promise;
  const sinceMs = performance.now();
  socket.write('1\r\nx\r\n'.repeat(5_000));
  socket.resume();
  await once(socket, 'close');
  // Without a last chunk Node would end it after 35 s.
  expect(performance.now() - sinceMs).toBeLessThan(4_000);
});

test('names of the admin port are host names [D14.218]', () => {
  const read = (hosts: string) =>
    readEnvironment({ ...catalogEnvironment('postgres://a:b@h/d'), ELIGO_ADMIN_HOSTS: hosts }, (env) =>
      readServiceSettings(env, 'catalog'),
    ).adminNames;
  expect(read('admin.example, Catalog.eligo.svc')).toEqual(['admin.example', 'catalog.eligo.svc']);
  expect(() => read('admin.example:9001')).toThrow('ELIGO_ADMIN_HOSTS must be host names');
  expect(() => read('*')).toThrow('ELIGO_ADMIN_HOSTS must be host names');
});

function statusOf(headers: Record<string, string>, path: string, method = 'GET'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: admin.port, path, method, headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject);
    asked.end();
  });
}
