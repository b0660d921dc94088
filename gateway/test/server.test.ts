import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitUntil } from '@eligo/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { createHttpServer, type HttpServer } from '../src/server.ts';

const few = { total: 10, perNetwork: 10, isProxy: () => false };
let http: HttpServer | undefined;

afterEach(() => http?.close(0));

test('a client that takes nothing of its answer is cut off', async () => {
  const cut = Promise.withResolvers<void>();
  http = createHttpServer((_request, response) => {
    response.on('close', () => cut.resolve());
    const fill = () => {
      while (response.write('x'.repeat(65_536)));
    };
    response.on('drain', fill);
    fill();
  }, few);
  expect(http.server.timeout).toBe(60_000);
  http.server.timeout = 100;
  const socket = connect(await http.listen(0, '127.0.0.1'), '127.0.0.1');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await cut.promise;
  socket.destroy();
  await once(socket, 'close');
});

describe('connections', () => {
  test('that have been idle longest are closed for new ones, so that the port stays open [D14.136]', async () => {
    http = createHttpServer((_request, response) => void response.end('ok'), { ...few, total: 4, perNetwork: 8 });
    const port = await http.listen(0, '127.0.0.1');
    const idle = await Promise.all([1, 2, 3, 4].map(() => open(port)));
    const closed = idle.map((socket) => once(socket, 'close'));
    for (let i = 0; i < 3; i++) expect(await answered(await open(port))).toBe(true);
    await Promise.all(closed.slice(0, 3));
  });

  test('with a request under way are not closed: a new one is refused then [D14.136]', async () => {
    const ends: (() => void)[] = [];
    http = createHttpServer((_request, response) => void ends.push(() => response.end('ok')), { ...few, total: 2 });
    const port = await http.listen(0, '127.0.0.1');
    const busy = [await open(port), await open(port)];
    const answers = busy.map((socket) => answered(socket));
    await waitUntil(() => ends.length === 2);
    await once(await open(port), 'close');
    for (const end of ends) end();
    expect(await Promise.all(answers)).toEqual([true, true]);
  });

  test('of one address are so many at most, but for those of a trusted proxy [D14.136]', async () => {
    http = createHttpServer((_request, response) => void response.end('ok'), { ...few, perNetwork: 2 });
    const port = await http.listen(0, '127.0.0.1');
    const first = await open(port);
    const cut = once(first, 'close');
    await open(port);
    await open(port);
    await cut;
    await http.close(0);
    http = createHttpServer((_request, response) => void response.end('ok'), {
      ...few,
      ...{ perNetwork: 2, isProxy: (address: string) => address === '127.0.0.1' },
    });
    const proxied = await http.listen(0, '127.0.0.1');
    const sockets = await Promise.all([1, 2, 3, 4].map(() => open(proxied)));
    for (const socket of sockets) expect(await answered(socket)).toBe(true);
  });
});

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function answered(socket: Socket): Promise<boolean> {
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return String(first).startsWith('HTTP/1.1 200');
}
