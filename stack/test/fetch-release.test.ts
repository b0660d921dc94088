import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fetchRelease } from '../src/nats/from-release.ts';

const file = 'nats-server-v0-test.tar.gz';
let folder: string;
let archive: Buffer;
let server: Server;
let url: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-release-'));
  mkdirSync(join(folder, 'nats-server-v0-test'));
  writeFileSync(join(folder, 'nats-server-v0-test', 'nats-server'), 'a program');
  execFileSync('tar', ['-czf', join(folder, file), '-C', folder, 'nats-server-v0-test']);
  archive = readFileSync(join(folder, file));
  server = createServer((request, response) => {
    if (request.url?.endsWith(`/${file}`)) response.end(archive);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const sha256 = () => createHash('sha256').update(archive).digest('hex');

it('puts the program of an archive in place when the archive is what it should be', async () => {
  const path = join(folder, 'placed');
  await fetchRelease(path, url, { file, sha256: sha256() });
  expect(readFileSync(path, 'utf8')).toBe('a program');
  expect(statSync(path).mode & 0o777).toBe(0o755);
});

it('unpacks nothing of an archive that is not', async () => {
  const path = join(folder, 'placed');
  await expect(fetchRelease(path, url, { file, sha256: '0'.repeat(64) })).rejects.toThrow(
    'unexpected SHA-256 checksum',
  );
  expect(existsSync(path)).toBe(false);
});

it('says so when the vendor has no such release', async () => {
  const other = { file: 'other.tar.gz', sha256: sha256() };
  await expect(fetchRelease(join(folder, 'placed'), url, other)).rejects.toThrow('returned 404');
});
