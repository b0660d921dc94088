import { allRoutes, limits } from '@eligo/contract';
import { form, fuzzRequests, type ProbeTarget, seedRecords } from '@eligo/gateway/probes';
import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { make, newCard, newCustomer, newSession, openShop } from '../shop.ts';
import { type AttackingAccount, openAttackingAccount } from './attacking-account.ts';
import { endpointAttackers } from './endpoint-attackers.ts';
import { type Attacker, flood, type Prepared, sendPrepared } from './flood.ts';
import { longAttackers } from './long-attackers.ts';
import { pageAttackers } from './page-attackers.ts';

/** How attackers attack: with an account's key, on its pages, by its webhook endpoints, or by requests of its key that cause long work. */
export const attackKinds = ['keys', 'pages', 'endpoints', 'long'] as const;
export type AttackKind = (typeof attackKinds)[number];

/** The attackers of these kinds. The key of each admits so many requests a second. */
export async function attackersOf(
  eligo: Constellation,
  perSecond: number,
  kinds: readonly AttackKind[],
): Promise<Attacker[]> {
  const open = { keys: keyAttackers, pages: pageAttackers, endpoints: endpointAttackers, long: longAttackers };
  const opened: Attacker[] = [];
  for (const kind of kinds) opened.push(...(await open[kind](await openAttackingAccount(eligo, perSecond))));
  return opened;
}

// Whoever attacks with an account's key.
async function keyAttackers({ eligo, api, unlimited, perSecond }: AttackingAccount): Promise<Attacker[]> {
  const seeded = await seedRecords(eligo.url, unlimited.key, { receipts: true });
  const target: ProbeTarget = {
    ...{ url: eligo.url, testKey: api.key, liveKey: '', scopelessKey: '', foreignKey: '' },
    ...seeded,
  };
  const shop = await openShop(unlimited);
  const customer = await newCustomer(unlimited);
  const card = await newCard(unlimited, customer, 'hsa');
  const expensive = await expensiveCartOf(unlimited);
  const expensiveSession = await make(unlimited, '/v1/checkout/sessions', 'checkout_session', expensive);
  const session = `/v1/checkout/sessions/${text(expensiveSession, 'checkout_session_id')}`;
  const cart = { checkout_session: { line_items: expensive.line_items } };
  const uploaded = upload();
  const content = `/v1/files/${await fileOf(unlimited, uploaded)}/content`;

  const attacker = (name: string, one: (count: number) => Promise<unknown>) => ({
    name,
    attack: (signal: AbortSignal) => flood(signal, perSecond * 1.2, one),
  });
  const sending = (name: string, requests: readonly Prepared[]) =>
    attacker(name, (count) => send(api, requests[count % requests.length] as Prepared));
  return [
    sending('carts of 100 lines and 500 coupons', [post('/v1/checkout/sessions', { checkout_session: expensive })]),
    sending('changes of a session to 100 lines', [post(session, cart)]),
    sending('reads of a session of 100 lines', [get(session), get(`${session}/line_items?limit=100`)]),
    sending('PDFs of a session and of an invoice', [
      get(`${session}/substantiation?format=pdf`),
      get(`/v1/invoices/${seeded.own.invoice}/document`),
    ]),
    sending(
      'every list, 100 records a page',
      allRoutes
        .filter(({ method, path }) => method === 'GET' && !path.includes('{'))
        .map(({ path }) => get(`${path}?limit=100`)),
    ),
    attacker('sessions, all of one customer', async () => {
      const made = await newSession(api, shop, { customer });
      const path = `/v1/checkout/sessions/${text(made, 'checkout_session_id')}/confirm`;
      const sent = { ...post(path, { checkout_session: { payment_method: card } }) };
      return send(api, { ...sent, headers: { ...sent.headers, 'idempotency-key': crypto.randomUUID() } });
    }),
    sending('bodies of 1 MB that are refused', [
      post('/v1/products', { product: { name: 'x', metadata: { filler: 'x'.repeat(1_000_000) } } }),
    ]),
    sending('uploads of 10 MB', [uploaded]),
    sending('downloads of 10 MB', [get(content)]),
    sending(
      'random requests to every route',
      fuzzRequests(target, { requests: 2_000, seed: 1 }).map(({ route: { method }, path, body, headers }) => ({
        ...{ method, path, headers: { 'content-type': 'application/json', ...headers } },
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
      })),
    ),
  ];
}

async function expensiveCartOf(api: Api): Promise<Record<string, unknown>> {
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

function upload() {
  const start = '%PDF-1.4\n';
  const content = start + 'x'.repeat(limits.fileBytes - start.length);
  const parts = [
    { name: 'purpose', content: 'dispute_evidence' },
    { name: 'file', filename: 'receipt.pdf', type: 'application/pdf', content },
  ];
  const { body, headers } = form(parts);
  return { method: 'POST', path: '/v1/files', headers, body: Buffer.from(body) };
}

async function fileOf({ url, key }: Api, { method, path, headers, body }: ReturnType<typeof upload>): Promise<string> {
  const answer = await fetch(url + path, { method, headers: { ...headers, authorization: `Bearer ${key}` }, body });
  const { file } = (await answer.json()) as { file: Record<string, unknown> };
  return text(file, 'file_id');
}

function get(path: string): Prepared {
  return { method: 'GET', path };
}

function post(path: string, body: Record<string, unknown>): Prepared {
  return {
    ...{ method: 'POST', path },
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function send({ url, key }: Api, prepared: Prepared): Promise<number | undefined> {
  return sendPrepared(url, { ...prepared, headers: { authorization: `Bearer ${key}`, ...prepared.headers } });
}
