import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isOld, tellIfOld } from '../src/nats/old-server.ts';

it.each([
  ['nats-server: v2.9.10', true],
  ['nats-server: v2.12.6', true],
  ['nats-server: v1.99.99', true],
  ['nats-server: v2.12.7', false],
  ['nats-server: v2.13.0', false],
  ['nats-server: v3.0.0', false],
  ['nats-server: dev', false],
])('knows that %s is old: %s', (text, expected) => {
  expect(isOld(text)).toBe(expected);
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
