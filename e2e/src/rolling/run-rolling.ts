import { type Api, apiClient } from '@eligo/testkit';
import { record, text } from '../records.ts';
import { confirm, newCard, newCustomer, newSession, openShop, type Shop } from '../shop.ts';
import { startBalancer } from './balancer.ts';

/** What is restarted: the gateways, a key, and a way to restart a process and wait until it is ready. */
export interface RollingTarget {
  readonly urls: readonly string[];
  readonly testApiKey: string;
  restart(name: string): Promise<void>;
}

/** What happened during a rolling restart. */
export interface RollingReport {
  /** Paid and refunded sessions, and the requests that failed, in words. */
  readonly sales: number;
  readonly failures: readonly string[];
  /** Requests that each gateway was sent. */
  readonly sent: readonly number[];
  readonly tookMs: number;
}

/**
 * Restarts every process, a first replica of each component and then a second, while clients behind a load balancer sell: a cart, a confirm, a refund, and
 * reads. Clients do not retry.
 */
export async function runRolling(
  eligo: RollingTarget,
  rounds: readonly (readonly string[])[],
  clientsAtOnce: number,
): Promise<RollingReport> {
  const startedAt = performance.now();
  const balancer = await startBalancer(eligo.urls);
  const api = apiClient(balancer.url, eligo.testApiKey);
  const shop = await openShop(api);
  const failures: string[] = [];
  let sales = 0;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      try {
        await sell(api, shop);
        sales += 1;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const clients = Array.from({ length: clientsAtOnce }, client);
  try {
    for (const names of rounds) {
      await Promise.all(names.map((name) => eligo.restart(name)));
      // A process is ready before the load balancer has seen it: the public page is up to a second old.
      await balancer.allReady();
    }
  } finally {
    isOver = true;
    await Promise.all(clients);
    await balancer.close();
  }
  const sent = eligo.urls.map((url) => balancer.sent.get(url) ?? 0);
  return { sales, failures, sent, tookMs: Math.round(performance.now() - startedAt) };
}

async function sell(api: Api, shop: Shop): Promise<void> {
  const customer = await newCustomer(api);
  const [card, session] = await Promise.all([newCard(api, customer, 'hsa'), newSession(api, shop, { customer })]);
  const id = text(session, 'checkout_session_id');
  const answer = await confirm(api, id, card);
  if (answer.status !== 200) throw new Error(`confirm: ${answer.status} ${answer.text}`);
  const refund = { line_items: [{ price: shop.eligiblePriceId, amount_to_refund: 1_000 }] };
  await api.ok('POST', `/v1/checkout/sessions/${id}/refund`, { body: { checkout_session: refund } });
  const read = record(await api.ok('GET', `/v1/checkout/sessions/${id}`), 'checkout_session');
  if (read.status !== 'complete') throw new Error(`session ${id} is ${read.status}`);
}
