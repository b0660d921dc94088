import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from './wait-until.ts';

type Json = Record<string, unknown>;

/** A delivery as the partner's server got it. */
export interface Received {
  readonly headers: Record<string, string>;
  /** The bytes that the signature covers. */
  readonly raw: string;
  readonly body: Json;
}

/** A partner's server that takes webhooks. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Those of a type, oldest first. */
  ofType(type: string): Received[];
  /** Waits for the first delivery of a type that matches. */
  next(type: string, matches?: (body: Json) => boolean): Promise<Received>;
  close(): Promise<void>;
}

/** Starts a receiver on loopback that answers 200 to everything. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString('utf8');
      received.push({ headers: flat(request.headers), raw, body: JSON.parse(raw) as Json });
      response.writeHead(200).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ofType = (type: string) => received.filter((one) => one.body.event_type === type);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    ofType,
    next: (type, matches = () => true) =>
      waitUntil(() => ofType(type).find((one) => matches(one.body)), { withinMs: 45_000, what: `the event ${type}` }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
