import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freePort, freePorts, isFree } from '../src/free-port.ts';

const only = (port: number) => ({ lowest: port, highest: port });

it('finds distinct free ports', async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  expect(await Promise.all(ports.map((port) => isFree(port)))).toEqual(ports.map(() => true));
});

it('passes over a port on which somebody listens', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  await expect(freePorts(1, '127.0.0.1', only(address.port))).rejects.toThrow('No 1 free ports');
  server.close();
});

it('never finds a reserved port again, although it is still free', async () => {
  const port = await freePort();
  await expect(freePorts(1, '127.0.0.1', only(port))).rejects.toThrow('No 1 free ports');
});

it('passes over what another process has reserved, until that process has ended', async () => {
  const module = fileURLToPath(new URL('../src/free-port.ts', import.meta.url));
  const script = `
    const { freePort } = await import(${JSON.stringify(module)});
    process.stdout.write(String(await freePort()));
    process.stdin.resume();
  `;
  const other = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(other, 'exit');
  const [said] = await once(other.stdout, 'data');
  const port = Number(said);
  await expect(freePorts(1, '127.0.0.1', only(port))).rejects.toThrow('No 1 free ports');
  other.stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await freePorts(1, '127.0.0.1', only(port))).toEqual([port]);
});
