import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOldServer } from '@eligo/events';
import { expect, it } from 'vitest';
import { tellIfOld, tellIfOldAt } from '../src/nats/old-server.ts';

it.each([
  ['nats-server: v2.9.10', true],
  ['nats-server: v2.12.6', true],
  ['nats-server: v1.99.99', true],
  ['nats-server: v2.12.7', false],
  ['nats-server: v2.13.0', false],
  ['nats-server: v3.0.0', false],
  ['nats-server: dev', false],
])('knows that %s is old: %s', (text, expected) => {
  expect(isOldServer(text)).toBe(expected);
});

it.each([
  ['2.9.10', ['is version 2.9.10; use 2.12.7 or newer in production']],
  ['2.12.7', []],
])('says what a server of version %s should be', (version, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-nats-'));
  const command = join(folder, 'nats-server');
  writeFileSync(command, `#!/bin/sh\necho "nats-server: v${version}"\n`, { mode: 0o755 });
  const news: string[] = [];
  tellIfOld(command, (text) => news.push(text));
  expect(news).toEqual(expected.map((text) => `${command} ${text}`));
  rmSync(folder, { recursive: true });
});

it.each([
  ['2.9.10', ['the NATS server behind NATS_URL is version 2.9.10; use 2.12.7 or newer in production']],
  ['2.12.7', []],
])('says what the server behind NATS_URL should be when it is of version %s', async (version, expected) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`INFO {"server_id":"x","version":"${version}","proto":1} \r\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const news: string[] = [];
  const { port } = server.address() as AddressInfo;
  await tellIfOldAt(`nats://name:password@127.0.0.1:${port},nats://127.0.0.1:1`, (text) => news.push(text));
  expect(news).toEqual(expected);
  server.close();
});

it.each([['nats://127.0.0.1:1'], ['127.0.0.1:4222'], ['nats://name:pass word@:4222'], [',']])(
  'says nothing of a server that is not there or has no URL: %s',
  async (natsUrl) => {
    const news: string[] = [];
    await tellIfOldAt(natsUrl, (text) => news.push(text));
    expect(news).toEqual([]);
  },
);
