import { randomUUID } from 'node:crypto';
import { type Bench, loadEach } from '../bench.ts';
import { requestText } from '../requests.ts';
import { sessionBody } from '../seed/shop.ts';

/** A fresh open session for each run of each connection, each with that connection's own shopper. */
export async function openSessions(bench: Bench, perConnection: number): Promise<string[][]> {
  const shop = await bench.shop();
  const { port, file } = bench.stack;
  const texts = shop.shoppers.map((shopper) => {
    const body = sessionBody(shop, shopper);
    const request = requestText('POST', '/v1/checkout/sessions', file.test_api_key, { body });
    return Array.from({ length: perConnection }, () => request);
  });
  const bodies = await bench.load.ask('bodies', { port, connections: texts.length, requests: { kind: 'each', texts } });
  const ids = bodies.map((body) => idOf(JSON.parse(body)));
  return shop.shoppers.map((_, index) => ids.slice(index * perConnection, (index + 1) * perConnection));
}

/** The request that confirms each session, with its shopper's card. */
export async function confirmTexts(bench: Bench, sessions: readonly (readonly string[])[]): Promise<string[][]> {
  const { shoppers } = await bench.shop();
  return sessions.map((ids, index) => {
    const body = { checkout_session: { payment_method: shoppers[index]?.paymentMethodId } };
    return ids.map((id) =>
      requestText('POST', `/v1/checkout/sessions/${id}/confirm`, bench.stack.file.test_api_key, {
        body,
        idempotencyKey: randomUUID(),
      }),
    );
  });
}

/** As `openSessions`, each of them confirmed. */
export async function paidSessions(bench: Bench, perConnection: number): Promise<string[][]> {
  const sessions = await openSessions(bench, perConnection);
  await loadEach(bench, await confirmTexts(bench, sessions));
  return sessions;
}

function idOf(answer: { checkout_session?: { checkout_session_id?: string } }): string {
  const id = answer.checkout_session?.checkout_session_id;
  if (id === undefined) throw new Error('an answer without a session');
  return id;
}
