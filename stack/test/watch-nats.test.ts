import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchStore } from '@eligo/events/store-watch';
import { waitUntil } from '@eligo/testkit';
import { connect } from 'nats';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { makeHome } from '../src/home.ts';
import { natsConfiguration } from '../src/nats/configuration.ts';
import { type NatsServer, startNats } from '../src/nats/server.ts';
import { watchNats } from '../src/nats/watch-nats.ts';

let folder: string;
const troubles: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eligo-watch-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  troubles.length = 0;
});

async function start(): Promise<NatsServer> {
  const server = await startNats(makeHome(folder), {
    configuration: (place) => natsConfiguration(place, (name) => `p-${name}`),
    watchUrl: urlOf,
    watchEveryMs: 200,
    onNews: () => undefined,
    onTrouble: (text) => troubles.push(text),
  });
  onTestFinished(() => server.process.stop(2_000));
  return server;
}

const urlOf = ({ host, port }: { host: string; port: number }) => `nats://admin:p-admin@${host}:${port}`;

async function restarted(server: NatsServer): Promise<void> {
  await waitUntil(() => server.process.restarts() === 1, { what: 'the restart', withinMs: 50_000 });
}

async function works(server: NatsServer): Promise<void> {
  const store = await watchStore(urlOf(server));
  await store.look().finally(() => store.close());
}

const mounted = (at: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', at]).status === 0;
const unmount = (at: string) => void spawnSync('umount', ['--lazy', at]);

/** A full disk needs a disk of its own. */
function mayMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), 'eligo-mount-'));
  const may = mounted(at);
  if (may) unmount(at);
  rmdirSync(at);
  return may;
}

/** A disk of 2 MB at the folder of JetStream, most of it taken by the file whose path it returns. */
function mountSmallDisk(): string {
  const at = join(folder, 'nats', 'jetstream');
  mkdirSync(at, { recursive: true });
  expect(mounted(at)).toBe(true);
  onTestFinished(() => unmount(at));
  const ballast = join(at, 'ballast');
  writeFileSync(ballast, Buffer.alloc(1_500_000));
  return ballast;
}

/** Publishes until the server does not store any more. */
async function fill(server: NatsServer): Promise<void> {
  const { hostname, port } = new URL(urlOf(server));
  const nats = await connect({ servers: `${hostname}:${port}`, user: 'admin', pass: 'p-admin', reconnect: false });
  const manager = await nats.jetstreamManager();
  await manager.streams.add({ name: 'FILLED', subjects: ['filled'] });
  const publishing = async () => {
    for (;;) await nats.jetstream({ timeout: 2_000 }).publish('filled', Buffer.alloc(64_000));
  };
  await expect(publishing()).rejects.toThrow();
  await nats.close();
}

test('a server whose folder is removed while it runs is restarted, and works again [D14.135]', async () => {
  const server = await start();
  const first = server.process.current().pid;
  await rm(join(folder, 'nats', 'jetstream'), { recursive: true });
  await restarted(server);
  expect(server.process.current().pid).not.toBe(first);
  expect(troubles[0]).toBe('The folder of NATS is gone; restarting NATS');
  await works(server);
});

test('a server that runs and does not answer is killed and started again, and works again [D14.352]', async () => {
  const server = await start();
  // It takes no SIGTERM either, like one whose JetStream hangs.
  process.kill(server.process.current().pid, 'SIGSTOP');
  await restarted(server);
  expect(troubles).toEqual([
    'JetStream does not work; restarting NATS',
    expect.stringMatching(/^nats exited \(SIGKILL\); restarting it in \d+ ms$/),
  ]);
  await works(server);
});

test('a server that is being started again is not reported and not restarted meanwhile [D14.352]', async () => {
  let [asked, isRunning] = [0, false];
  const end = watchNats({
    ...{ streamsFolder: join(folder, 'gone'), url: 'nats://admin:p-admin@127.0.0.1:1', everyMs: 1 },
    isRunning: () => {
      asked += 1;
      return isRunning;
    },
    restart: async () => {
      isRunning = false;
    },
    onTrouble: (text) => troubles.push(text),
  });
  onTestFinished(end);
  await waitUntil(() => asked >= 5, { what: 'looks at a server that is being started' });
  expect(troubles).toEqual([]);
  isRunning = true;
  await waitUntil(() => !isRunning, { what: 'the restart' });
  expect(troubles).toEqual(['The folder of NATS is gone; restarting NATS']);
});

const testWithOwnDisk = test.skipIf(!mayMount());

testWithOwnDisk(
  'a server whose disk is full is restarted, and works again once there is room; needs the right to mount [D14.352]',
  async () => {
    const ballast = mountSmallDisk();
    const server = await start();
    await fill(server);
    await waitUntil(() => troubles.length > 0, { what: 'the look', withinMs: 50_000 });
    expect(troubles[0]).toBe('JetStream does not work; restarting NATS');
    await rm(ballast);
    const isWell = async () => {
      await works(server);
      return server.process.restarts() > 0;
    };
    await waitUntil(isWell, { what: 'a store that works', withinMs: 50_000 });
  },
);
