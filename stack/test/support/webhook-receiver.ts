import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';

/** A partner's server that takes webhooks, over restarts of Eligo. */
export interface WebhookReceiver {
  readonly url: string;
  /** The identifiers of all deliveries, in the order in which they came. */
  readonly ids: readonly string[];
  /** Waits until an event of a type has come for a session, and verifies its signature. */
  came(type: string, session: string, secret: string): Promise<void>;
  close(): Promise<void>;
}

interface Delivery {
  readonly headers: Record<string, string>;
  readonly raw: string;
}

/** Starts one on loopback that answers 200 to everything. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const ids: string[] = [];
  const server = createServer((request, response) => {
    let raw = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      raw += part;
    });
    request.on('end', () => {
      deliveries.push({ headers: request.headers as Record<string, string>, raw });
      ids.push(String(request.headers['webhook-id']));
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ids,
    async came(type, session, secret) {
      const found = () => deliveries.find(({ raw }) => raw.includes(`"${type}"`) && raw.includes(session));
      const { raw, headers } = await waitUntil(found, { withinMs: 60_000, what: `${type} of ${session}` });
      new Webhook(secret).verify(raw, headers);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
