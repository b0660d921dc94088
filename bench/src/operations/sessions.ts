import { randomUUID } from 'node:crypto';
import { newId } from '@eligo/values';
import { loadEach } from '../load-each.ts';
import type { LoadGenerator, LoadResult } from '../processes/generator.ts';
import type { Worker } from '../processes/worker.ts';
import { pageRequestText, requestText } from '../requests.ts';
import { type BenchShop, sessionBody } from '../seed/shop.ts';

/** Where writes are sent to, and what they are about. */
export interface Place {
  readonly load: Worker<LoadGenerator>;
  readonly port: number;
  readonly apiKey: string;
  readonly shop: BenchShop;
}

/** For each connection as many requests that create a session, each with that connection's own shopper and, if asked for, a key of its own. */
export function createTexts({ shop, apiKey }: Place, perConnection: number, { keyed = false } = {}): string[][] {
  return shop.shoppers.map((shopper) => {
    const body = sessionBody(shop, shopper);
    const text = (key?: { idempotencyKey: string }) =>
      requestText('POST', '/v1/checkout/sessions', apiKey, { body, ...key });
    const keyless = text();
    return Array.from({ length: perConnection }, () => (keyed ? text({ idempotencyKey: randomUUID() }) : keyless));
  });
}

/** A fresh open session for each run of each connection, each with that connection's own shopper. */
export function openSessions(place: Place, perConnection: number): Promise<string[][]> {
  return openAs(place, perConnection, 'checkout_session_id');
}

/** As `openSessions`, but the path of each one's page. */
export async function openPages(place: Place, perConnection: number): Promise<string[][]> {
  const urls = await openAs(place, perConnection, 'redirect_url');
  return urls.map((some) => some.map((url) => new URL(url).pathname));
}

async function openAs(place: Place, perConnection: number, field: AnsweredField): Promise<string[][]> {
  const { load, port, shop } = place;
  const texts = createTexts(place, perConnection);
  const bodies = await load.ask('bodies', { port, connections: texts.length, requests: { kind: 'each', texts } });
  const answered = bodies.map((body) => fieldOf(JSON.parse(body), field));
  return shop.shoppers.map((_, index) => answered.slice(index * perConnection, (index + 1) * perConnection));
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
  const ids = bodies.map((body) => fieldOf(JSON.parse(body), 'checkout_session_id'));
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

/** Loads each page for the first time, from an address of its own: these files, and what it asks for. */
export async function loadPages(
  place: Place,
  pages: readonly (readonly string[])[],
  files: readonly string[],
): Promise<LoadResult> {
  const texts = pages.map((paths, connection) =>
    paths.flatMap((path, run) =>
      [path, ...files].map((one) => pageRequestText('GET', one, addressOf(connection, run))),
    ),
  );
  const requests = await loadEach(place, texts);
  const perPage = files.length + 1;
  return { ...requests, count: requests.count / perPage, perSecond: requests.perSecond / perPage };
}

/** Pays each session on its page with new cards, one for each slot, from an address of its own. Counts cards. */
export async function payOnPages(
  place: Place,
  pages: readonly (readonly string[])[],
  slots: readonly CardSlot[],
): Promise<LoadResult> {
  const texts = pages.map((paths, connection) =>
    paths.map((path, run) => {
      return pageRequestText('POST', `${path}/pay`, addressOf(connection, run), { cards: slots.map(newPageCard) });
    }),
  );
  const payments = await loadEach(place, texts);
  return { ...payments, perSecond: payments.perSecond * slots.length };
}

export type CardSlot = 'health' | 'other';

/** A card that was typed on a page. The stub processor tells its kind by its identifier. */
export function newPageCard(slot: CardSlot) {
  return { payment_method: `pm_page${slot}${newId('request').slice(-26)}`, slot };
}

// Each shopper has an address: the limits of pages are those of an address and of a session.
function addressOf(connection: number, run: number): string {
  return `10.${connection}.${Math.floor(run / 256) % 256}.${run % 256}`;
}

type AnsweredField = 'checkout_session_id' | 'redirect_url';

function fieldOf(answer: { checkout_session?: Partial<Record<AnsweredField, string>> }, field: AnsweredField): string {
  const value = answer.checkout_session?.[field];
  if (value === undefined) throw new Error(`an answer without ${field}`);
  return value;
}
