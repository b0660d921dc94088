import { randomUUID } from 'node:crypto';
import { loadEach } from '../load-each.ts';
import type { LoadGenerator, LoadResult } from '../processes/generator.ts';
import type { Worker } from '../processes/worker.ts';
import { requestText } from '../requests.ts';
import { type BenchShop, sessionBody } from '../seed/shop.ts';

/** Where writes are sent to, and what they are about. */
export interface Place {
  readonly load: Worker<LoadGenerator>;
  readonly port: number;
  readonly apiKey: string;
  readonly shop: BenchShop;
}

/** For each connection as many requests that create a session, each with that connection's own shopper. */
export function createTexts({ shop, apiKey }: Place, perConnection: number): string[][] {
  return shop.shoppers.map((shopper) => {
    const body = sessionBody(shop, shopper);
    const request = requestText('POST', '/v1/checkout/sessions', apiKey, { body });
    return Array.from({ length: perConnection }, () => request);
  });
}

/** A fresh open session for each run of each connection, each with that connection's own shopper. */
export async function openSessions(place: Place, perConnection: number): Promise<string[][]> {
  const { load, port, shop } = place;
  const texts = createTexts(place, perConnection);
  const bodies = await load.ask('bodies', { port, connections: texts.length, requests: { kind: 'each', texts } });
  const ids = bodies.map((body) => idOf(JSON.parse(body)));
  return shop.shoppers.map((_, index) => ids.slice(index * perConnection, (index + 1) * perConnection));
}

/** As `openSessions`, each of them held on an ordinary card of its own, to be captured. */
export async function heldSessions(place: Place, perConnection: number): Promise<string[][]> {
  const { load, port, apiKey, shop } = place;
  const texts = shop.shoppers.map((shopper) => {
    const body = sessionBody(shop, shopper);
    const held = { checkout_session: { ...body.checkout_session, capture_method: 'manual' } };
    const request = requestText('POST', '/v1/checkout/sessions', apiKey, { body: held });
    return Array.from({ length: perConnection }, () => request);
  });
  const bodies = await load.ask('bodies', { port, connections: texts.length, requests: { kind: 'each', texts } });
  const ids = bodies.map((body) => idOf(JSON.parse(body)));
  const sessions = shop.shoppers.map((_, index) => ids.slice(index * perConnection, (index + 1) * perConnection));
  const body = { checkout_session: { payment_method: 'credit' } };
  await loadEach(
    place,
    sessions.map((some) =>
      some.map((id) => requestText('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, apiKey, { body })),
    ),
  );
  return sessions;
}

/** Captures each session whole. */
export function captureSessions(place: Place, sessions: readonly (readonly string[])[]): Promise<LoadResult> {
  const body = { checkout_session: {} };
  const texts = sessions.map((ids) =>
    ids.map((id) =>
      requestText('POST', `/v1/checkout/sessions/${id}/capture`, place.apiKey, { body, idempotencyKey: randomUUID() }),
    ),
  );
  return loadEach(place, texts);
}

/** Confirms each session with its shopper's card. */
export function confirmSessions(place: Place, sessions: readonly (readonly string[])[]): Promise<LoadResult> {
  const texts = sessions.map((ids, index) => {
    const body = { checkout_session: { payment_method: place.shop.shoppers[index]?.paymentMethodId } };
    return ids.map((id) =>
      requestText('POST', `/v1/checkout/sessions/${id}/confirm`, place.apiKey, { body, idempotencyKey: randomUUID() }),
    );
  });
  return loadEach(place, texts);
}

/** As `openSessions`, each of them confirmed. */
export async function paidSessions(place: Place, perConnection: number): Promise<string[][]> {
  const sessions = await openSessions(place, perConnection);
  await confirmSessions(place, sessions);
  return sessions;
}

/** Refunds each session whole. */
export function refundSessions(place: Place, sessions: readonly (readonly string[])[]): Promise<LoadResult> {
  const body = { checkout_session: {} };
  const texts = sessions.map((ids) =>
    ids.map((id) => requestText('POST', `/v1/checkout/sessions/${id}/refund`, place.apiKey, { body })),
  );
  return loadEach(place, texts);
}

function idOf(answer: { checkout_session?: { checkout_session_id?: string } }): string {
  const id = answer.checkout_session?.checkout_session_id;
  if (id === undefined) throw new Error('an answer without a session');
  return id;
}
