import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchStore } from '@eligo/events/store-watch';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeHome } from '../src/home.ts';
import { natsConfiguration } from '../src/nats/configuration.ts';
import { type NatsServer, startNats } from '../src/nats/server.ts';

let folder: string;
let server: NatsServer;
const troubles: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eligo-watch-'));
  server = await startNats(makeHome(folder), {
    configuration: (place) => natsConfiguration(place, (name) => `p-${name}`),
    watchUrl: ({ host, port }) => `nats://admin:p-admin@${host}:${port}`,
    watchEveryMs: 200,
    onNews: () => undefined,
    onTrouble: (text) => troubles.push(text),
  });
});
afterAll(async () => {
  await server.process.stop(2_000);
  await rm(folder, { recursive: true });
});

test('a server whose folder is removed while it runs is restarted, and works again [D14.135]', async () => {
  const first = server.process.current().pid;
  await rm(join(folder, 'nats', 'jetstream'), { recursive: true });
  await waitUntil(() => server.process.restarts() === 1, { what: 'the restart', withinMs: 20_000 });
  expect(server.process.current().pid).not.toBe(first);
  expect(troubles[0]).toBe('The folder of NATS is gone; restarting NATS');
  const store = await watchStore(`nats://admin:p-admin@${server.host}:${server.port}`);
  await store.look();
  await store.close();
});
