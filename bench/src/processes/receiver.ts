// A partner's server that notes when each webhook came.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './worker.ts';

export type Receiver = {
  open(input: null): Promise<number>;
  /** What has come since the last time: event id and milliseconds since 1970. */
  take(input: null): readonly (readonly [string, number])[];
};

let received: [string, number][] = [];

const methods: Receiver = {
  async open() {
    const server = createServer((request, response) => {
      const at = performance.timeOrigin + performance.now();
      request.resume().on('end', () => {
        received.push([String(request.headers['webhook-id']), at]);
        response.writeHead(200, { 'Content-Length': 0 }).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  },
  take() {
    const taken = received;
    received = [];
    return taken;
  },
};

if (process.send !== undefined) serve(methods);
