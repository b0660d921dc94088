import { once } from 'node:events';
import { connect } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, expect, test } from 'vitest';
import type { Exchange } from '../src/api.ts';
import { createApp } from '../src/app.ts';
import { createHttpServer, type HttpServer } from '../src/server.ts';

let http: HttpServer | undefined;

afterEach(() => http?.close(0));

test('a client that resets its connection while it is answered is nothing unexpected; what else comes to nothing is', async () => {
  const unexpected: unknown[] = [];
  const answered = Promise.withResolvers<void>();
  const client = () => socket;
  const app = createApp({
    api: async ({ request }: Exchange) => {
      client().resetAndDestroy();
      await once(request.socket, 'close').catch(() => undefined);
      // As its calls end.
      throw new ConnectError('The caller disconnected', Code.Canceled);
    },
    publicRoutes: (_context, next) => next(),
    observer: {
      answered: () => answered.resolve(),
      unexpected: (error) => unexpected.push(error),
      unavailable: (failure) => unexpected.push(failure),
    },
  });
  http = createHttpServer(app.callback(), { total: 10, perNetwork: 10, isProxy: () => false });
  const socket = connect(await http.listen(0, '127.0.0.1'), '127.0.0.1');
  socket.write('GET /v1/prices HTTP/1.1\r\nHost: a\r\n\r\n');
  await answered.promise;
  expect(unexpected).toEqual([]);

  const fault = new Error('of ours');
  const exchange = { request: { socket: {} } };
  app.emit('error', fault, { state: { exchange } });
  expect(unexpected).toEqual([fault]);
});
