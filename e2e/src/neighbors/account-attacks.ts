import { fuzzRequests, type ProbeTarget } from '@eligo/gateway/probes';
import type { Api } from '@eligo/testkit';
import { text } from '../records.ts';
import { newCard, newCustomer, newSession, openShop, type Shop } from '../shop.ts';
import type { Attack } from './attack.ts';
import { flood, type Prepared } from './flood.ts';
import { post, send } from './prepared.ts';
import { seededRecords } from './seeded-records.ts';

export const withinLimit = 'payments of 16 customers, within the limit of the key';

/** What an account does with its key every day, as often as it may. */
export const accountAttacks: readonly Attack[] = [
  {
    name: 'sessions, all of one customer',
    async prepare({ api, unlimited, perSecond }) {
      const [shop, customer] = [await openShop(unlimited), await newCustomer(unlimited)];
      const shopper = { customer, card: await newCard(unlimited, customer, 'hsa') };
      return (signal) => flood(signal, perSecond * 1.2, () => pay(api, shop, shopper));
    },
  },
  {
    // Two requests each. An account that stays within its limit is never refused by it, so it does not count as one that asks for more than it may.
    name: withinLimit,
    async prepare({ api, unlimited, perSecond }) {
      const shop = await openShop(unlimited);
      const shoppers = await Promise.all(
        Array.from({ length: 16 }, async () => {
          const customer = await newCustomer(unlimited);
          return { customer, card: await newCard(unlimited, customer, 'hsa') };
        }),
      );
      return (signal) =>
        flood(signal, (perSecond / 2) * 0.95, (count) => pay(api, shop, shoppers[count % shoppers.length] as Shopper));
    },
  },
  {
    name: 'random requests to every route',
    async prepare(account) {
      const target: ProbeTarget = {
        ...{ url: account.eligo.url, testKey: account.api.key, liveKey: '', scopelessKey: '', foreignKey: '' },
        ...(await seededRecords(account)),
      };
      const requests: readonly Prepared[] = fuzzRequests(target, { requests: 2_000, seed: 1 }).map(
        ({ route: { method }, path, body, headers }) => ({
          ...{ method, path, headers: { 'content-type': 'application/json', ...headers } },
          ...(body === undefined ? {} : { body: Buffer.from(body) }),
        }),
      );
      return (signal) =>
        flood(signal, account.perSecond * 1.2, (count) =>
          send(account.api, requests[count % requests.length] as Prepared),
        );
    },
  },
];

interface Shopper {
  readonly customer: string;
  readonly card: string;
}

async function pay(api: Api, shop: Shop, { customer, card }: Shopper): Promise<number | undefined> {
  const made = await newSession(api, shop, { customer });
  const path = `/v1/checkout/sessions/${text(made, 'checkout_session_id')}/confirm`;
  const sent = post(path, { checkout_session: { payment_method: card } });
  return send(api, { ...sent, headers: { ...sent.headers, 'idempotency-key': crypto.randomUUID() } });
}
