import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHttpServer, type HttpServer } from '../src/server.ts';

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
  }, 10);
  expect(http.server.timeout).toBe(60_000);
  http.server.timeout = 100;
  const socket = connect(await http.listen(0, '127.0.0.1'), '127.0.0.1');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await cut.promise;
  socket.destroy();
  await once(socket, 'close');
});
