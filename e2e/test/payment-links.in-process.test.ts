import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, text } from '../src/records.ts';
import { make, openShop, type Shop } from '../src/shop.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let eligo: Constellation;
let api: Api;
let shop: Shop;
beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
  api = eligo.api(eligo.testApiKey);
  shop = await openShop(api);
});
afterAll(() => stopWithBooks(eligo));

const makeLink = (fields: Json = {}) =>
  make(api, '/v1/payment_links', 'payment_link', {
    line_items: [
      { price: shop.eligiblePriceId, quantity: 2 },
      { price: shop.otherPriceId, quantity: 1 },
    ],
    metadata: { campaign: 'spring' },
    ...fields,
  });
const visit = (url: string, method = 'GET') => fetch(url, { method, redirect: 'manual' });

/** The sessions of the account, newest first. */
async function sessions(): Promise<Json[]> {
  const { checkout_sessions } = (await api.ok('GET', '/v1/checkout/sessions?limit=10')) as {
    checkout_sessions: Json[];
  };
  return checkout_sessions;
}

it('each visit opens a session of the link and goes to its checkout page [D14.85]', async () => {
  const customText = { submit: { message: 'Ships within a day' } };
  const link = await makeLink({ shipping_options: { shipping_rate_id: shop.rateId }, custom_text: customText });
  const url = text(link, 'url');
  const [first, second] = [await visit(url), await visit(url)];
  expect([first.status, second.status]).toEqual([303, 303]);
  const [newest, before] = await sessions();
  expect([second.headers.get('location'), first.headers.get('location')]).toEqual([
    newest?.redirect_url,
    before?.redirect_url,
  ]);
  expect(newest).toMatchObject({
    status: 'open',
    mode: 'payment',
    payment_link: link.payment_link_id,
    metadata: { campaign: 'spring' },
    customer: null,
    success_url: null,
    custom_text: customText,
    amount_total: 2 * 4_999 + 2_500 + 799,
  });
  expect((await fetch(String(newest?.redirect_url))).status).toBe(200);
});

it('a session of a link is paid like any other [D14.85]', async () => {
  await visit(text(await makeLink(), 'url'));
  const [session] = await sessions();
  const path = `/v1/test_helpers/checkout/sessions/${text(session ?? {}, 'checkout_session_id')}/complete`;
  const body = { checkout_session: { payment_method: 'hsa', second_payment_method: 'credit' } };
  expect(record(await api.ok('POST', path, { body }), 'checkout_session')).toMatchObject({
    status: 'complete',
    amount_received: 2 * 4_999 + 2_500,
  });
});

it('a link with setup_future_use keeps the card for a new customer [D14.36]', async () => {
  await visit(text(await makeLink({ setup_future_use: 'off_session' }), 'url'));
  const [session] = await sessions();
  const path = `/v1/test_helpers/checkout/sessions/${text(session ?? {}, 'checkout_session_id')}/complete`;
  const body = { checkout_session: { payment_method: 'hsa', second_payment_method: 'credit' } };
  const customer = text(record(await api.ok('POST', path, { body }), 'checkout_session'), 'customer');
  const kept = (await api.ok('GET', `/v1/customers/${customer}/payment_methods`)) as { payment_methods: Json[] };
  expect(kept.payment_methods.length).toBeGreaterThan(0);
});

it('a link that is inactive, whose price is archived, or that does not exist opens no session [D14.85]', async () => {
  const link = await makeLink();
  const url = text(link, 'url');
  const count = (await sessions()).length;
  await api.ok('PATCH', `/v1/payment_links/${text(link, 'payment_link_id')}`, {
    body: { payment_link: { active: false } },
  });
  expect((await visit(url)).status).toBe(410);
  await api.ok('PATCH', `/v1/payment_links/${text(link, 'payment_link_id')}`, {
    body: { payment_link: { active: true } },
  });
  expect((await visit(url)).status).toBe(303);
  await api.ok('PATCH', `/v1/prices/${shop.otherPriceId}`, { body: { price: { active: false } } });
  expect((await visit(url)).status).toBe(410);
  await api.ok('PATCH', `/v1/prices/${shop.otherPriceId}`, { body: { price: { active: true } } });
  expect((await visit(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404);
  expect((await visit(url, 'POST')).status).toBe(405);
  expect((await sessions()).length).toBe(count + 1);
});

it('is answered by 404 where it is not the account’s [D14.85]', async () => {
  const answer = await api.get('/v1/payment_links/fplink_00000000000000000000000000');
  expect([answer.status, answer.body]).toMatchObject([404, { code: 'payment_link_not_found' }]);
});

it('an address that visits too often is refused before a session is made', async () => {
  const url = text(await makeLink(), 'url');
  const answers = await Promise.all(Array.from({ length: 30 }, () => visit(url)));
  const statuses = answers.map(({ status }) => status);
  // 503: a busy machine.
  for (const status of statuses) expect([303, 429, 503]).toContain(status);
  expect(statuses).toContain(429);
});
