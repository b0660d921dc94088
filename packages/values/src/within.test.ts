import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { within } from './within.ts';

test('an answer that arrived while the process stood still is in time', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const [[peer]] = (await Promise.all([accepted, once(socket, 'connect')])) as [[Socket], unknown];
  const answer = within(100, async () => {
    const arrives = once(socket, 'data');
    peer.write('here');
    const until = performance.now() + 300;
    while (performance.now() < until);
    return String((await arrives)[0]);
  });
  expect(await answer).toBe('here');
});

test('work that is silent for too long is given up', async () => {
  await expect(within(20, () => new Promise<never>(() => undefined))).rejects.toThrow('timed out after 20 ms');
});
