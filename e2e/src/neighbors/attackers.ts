import { Agent, request } from 'node:http';
import { allRoutes, limits } from '@eligo/contract';
import { form, fuzzRequests, type ProbeTarget, seedRecords } from '@eligo/gateway/probes';
import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { runCli } from '../run-cli.ts';
import { make, newCard, newCustomer, newSession, openShop } from '../shop.ts';

/** What one account does to others: sends requests until it is told to stop, more than its limits admit. */
export interface Attacker {
  readonly name: string;
  attack(signal: AbortSignal): Promise<AttackReport>;
}

/** What became of an attacker's requests. */
export interface AttackReport {
  readonly answered: number;
  /** By the limits: 429 and 503. */
  readonly refused: number;
}

/** A request whose bytes are made before the measurement, which is not to measure their making. */
interface Prepared {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** The attackers, all of one account whose key admits so many requests a second. */
export async function attackersOf(eligo: Constellation, perSecond: number): Promise<Attacker[]> {
  const account = await runCli(eligo, ['accounts', 'create', '--name', 'Neighbor', '--feature', 'receipts']);
  const keyOf = async (rateLimit: number) => {
    const given = ['--account', text(account, 'account'), '--mode', 'test', '--rate-limit', String(rateLimit)];
    return eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  };
  const unlimited = await keyOf(0);
  const api = await keyOf(perSecond);
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

// Answers are not awaited before the next request: whoever attacks does not wait.
async function flood(
  signal: AbortSignal,
  perSecond: number,
  one: (count: number) => Promise<unknown>,
): Promise<AttackReport> {
  const running = new Set<Promise<unknown>>();
  let [answered, refused] = [0, 0];
  for (let count = 0; !signal.aborted; count++) {
    // A refused or cut request is what the limits are for.
    const sent: Promise<unknown> = one(count)
      .then(
        (status) => (status === 429 || status === 503 ? refused++ : answered++),
        () => refused++,
      )
      .then(() => running.delete(sent));
    running.add(sent);
    await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
  }
  await Promise.all(running);
  return { answered, refused };
}

// By `node:http`, without looking at the answer: `fetch` costs as much as the work of most requests.
function send({ url, key }: Api, { method, path, headers, body }: Prepared): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': body.length };
    const sent = request(url + path, {
      ...{ method, agent },
      headers: { authorization: `Bearer ${key}`, ...length, ...headers },
    });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      answer.once('error', reject);
      answer.once('end', () => resolve(answer.statusCode)).resume();
    });
    sent.end(body);
  });
}

const agent = new Agent({ keepAlive: true });
