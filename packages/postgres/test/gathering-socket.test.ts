import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { GatheringSocket } from '../src/gathering-socket.ts';

let server: Server;
let received: Promise<string>;
let socket: GatheringSocket;

beforeEach(async () => {
  server = createServer((peer) => {
    received = text(peer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  socket = new GatheringSocket();
  socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
});
afterEach(() => {
  socket.destroy();
  server.close();
});

// As the driver does it: parse, bind and execute, flushed together.
function statement(name: string): void {
  socket.cork();
  for (const part of ['p', 'b', 'e']) socket.write(`${part}${name} `);
  socket.uncork();
}

it('sends the statements of one turn in one call, in their order, with what is written beside them', async () => {
  const sent = vi.spyOn(socket, '_writev');
  const single = vi.spyOn(socket, '_write');
  socket.write('begin ');
  statement('1');
  statement('2');
  socket.write('commit ');
  statement('3');
  expect(sent).not.toHaveBeenCalled();
  await new Promise(process.nextTick);
  expect(sent).toHaveBeenCalledTimes(1);
  expect(single).not.toHaveBeenCalled();
  socket.end();
  await once(socket, 'close');
  await expect(received).resolves.toBe('begin p1 b1 e1 p2 b2 e2 commit p3 b3 e3 ');
});

it('frees a large message once it is sent, and no small one', async () => {
  const [small, large] = [Buffer.from('small '), Buffer.alloc(1_000_000, 'x')];
  for (const message of [small, large, Buffer.from(' end')]) socket.write(message);
  socket.end();
  await once(socket, 'close');
  await expect(received).resolves.toBe(`small ${'x'.repeat(1_000_000)} end`);
  expect([small.length, large.length]).toEqual([6, 0]);
});

it('holds nothing back for a later turn', async () => {
  statement('1');
  await new Promise(process.nextTick);
  expect(socket.writableCorked).toBe(0);
  socket.write('commit ');
  await new Promise(process.nextTick);
  statement('2');
  socket.end();
  await once(socket, 'close');
  await expect(received).resolves.toBe('p1 b1 e1 commit p2 b2 e2 ');
});
