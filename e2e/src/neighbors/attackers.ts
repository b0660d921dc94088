import { allRoutes } from '@eligo/contract';
import { type ProbeTarget, probeFuzz, seedRecords } from '@eligo/gateway/probes';
import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { make, newCard, newCustomer, newSession, openShop } from '../shop.ts';

/** What one account does to others: sends requests until it is told to stop, as many as its limits admit. */
export interface Attacker {
  readonly name: string;
  attack(signal: AbortSignal): Promise<void>;
}

/** Requests a second: more than the limit of a test key admits, so that it is always at its limit. */
const tries = 40;

/** The attackers, all of one account whose key has the limits of any test key. */
export async function attackersOf(eligo: Constellation): Promise<Attacker[]> {
  const account = await runCli(eligo, ['accounts', 'create', '--name', 'Neighbor', '--feature', 'receipts']);
  const key = text(account, 'test_api_key');
  const given = ['--account', text(account, 'account'), '--mode', 'test', '--rate-limit', '0'];
  const unlimited = eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  const api = eligo.api(key);
  const seeded = await seedRecords(eligo.url, unlimited.key, { receipts: true });
  const dearCart = await dearCartOf(unlimited);
  const large = text(
    await make(unlimited, '/v1/checkout/sessions', 'checkout_session', dearCart),
    'checkout_session_id',
  );
  const lists = allRoutes.filter(({ method, path }) => method === 'GET' && !path.includes('{')).map(({ path }) => path);
  const shop = await openShop(unlimited);
  const customer = await newCustomer(unlimited);
  const card = await newCard(unlimited, customer, 'hsa');
  const target: ProbeTarget = {
    url: eligo.url,
    testKey: key,
    liveKey: '',
    scopelessKey: '',
    foreignKey: '',
    ...seeded,
  };
  return [
    steady('carts of 100 lines and 500 coupons', () =>
      api.post('/v1/checkout/sessions', { checkout_session: dearCart }),
    ),
    steady('reads of a session of 100 lines', () => api.get(`/v1/checkout/sessions/${large}/line_items?limit=100`)),
    steady('PDFs of a session of 100 lines', () => api.get(`/v1/checkout/sessions/${large}/substantiation?format=pdf`)),
    steady('every list, 100 records a page', (count) => api.get(`${lists[count % lists.length]}?limit=100`)),
    steady('sessions, all of one customer', async () => {
      const session = await newSession(api, shop, { customer });
      const path = `/v1/checkout/sessions/${text(session, 'checkout_session_id')}/confirm`;
      await api.post(path, { checkout_session: { payment_method: card } }, { idempotencyKey: crypto.randomUUID() });
    }),
    steady('bodies of 1 MB that are refused', () =>
      api.post('/v1/products', { product: { name: 'x', metadata: { filler: 'x'.repeat(1_000_000) } } }),
    ),
    {
      name: 'random requests to every route',
      async attack(signal) {
        for (let seed = 1; !signal.aborted && seed < 1_000; seed++) await probeFuzz(target, { requests: 100, seed });
      },
    },
  ];
}

async function dearCartOf(api: Api): Promise<Record<string, unknown>> {
  const product = text(await make(api, '/v1/products', 'product', { name: 'Thermometer' }), 'product_id');
  const prices: string[] = [];
  for (let at = 0; at < 100; at++) {
    prices.push(text(await make(api, '/v1/prices', 'price', { product, unit_amount: 10_000 + at }), 'price_id'));
  }
  return {
    line_items: prices.map((price) => ({ price, quantity: 1 })),
    discounts: Array.from({ length: 500 }, (_, at) => ({ coupon_data: { name: `c${at}`, amount_off: 1 } })),
    success_url: 'https://shop.example/done',
  };
}

// Answers are not awaited before the next request: whoever attacks does not wait.
function steady(name: string, request: (count: number) => Promise<unknown>): Attacker {
  return {
    name,
    async attack(signal) {
      const running = new Set<Promise<unknown>>();
      for (let count = 0; !signal.aborted; count++) {
        // A refused or cut request is what the limits are for.
        const one: Promise<unknown> = request(count).then(
          () => running.delete(one),
          () => running.delete(one),
        );
        running.add(one);
        await new Promise((resolve) => setTimeout(resolve, 1_000 / tries));
      }
      await Promise.all(running);
    },
  };
}
