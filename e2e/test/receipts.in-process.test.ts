import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let eligo: Constellation;
let api: Api;
let shop: Shop;
beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
  const made = await runCli(eligo, ['accounts', 'create', '--name', 'Care & Co', '--feature', 'receipts']);
  api = eligo.api(text(made, 'test_api_key'));
  shop = await openShop(api);
});
afterAll(() => eligo?.stop());

/** The receipt of a session, once it was mailed. */
async function receiptOf(session: string): Promise<Json> {
  let receipt: Json | undefined;
  const isMailed = async () => {
    const { receipts } = (await api.ok('GET', `/v1/receipts?checkout_session=${session}`)) as { receipts: Json[] };
    [receipt] = receipts;
    return receipt?.mail_status === 'sent';
  };
  await waitUntil(isMailed, { withinMs: 20_000, what: 'the mail of the receipt' });
  return receipt ?? expect.fail('no receipt');
}

async function htmlOf(receipt: Json): Promise<string> {
  const answer = await api.ok('GET', `/v1/receipts/${text(receipt, 'receipt_id')}/document`);
  const { html, pdf } = record(answer, 'receipt_document');
  expect(Buffer.from(String(pdf), 'base64').toString('latin1')).toMatch(/^%PDF-1\./);
  return String(html);
}

describe('a shop with the feature receipts', () => {
  it('has its shopper mailed what each of two cards paid, at the address of the session [D14.86]', async () => {
    const customer = await newCustomer(api, { first_name: 'Ada', last_name: 'Lovelace' });
    const [hsa, credit] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
      body: { checkout_session: { payment_method: hsa, second_payment_method: credit } },
    });
    const receipt = await receiptOf(session);
    expect(receipt).toMatchObject({ amount: 11_773, subscription: null, test_mode: true });
    const html = await htmlOf(receipt);
    for (const fact of [
      'Receipt from Care &#38; Co',
      'Ada Lovelace',
      '1 × Blood pressure monitor',
      '2 × Bath towel',
      'HSA/FSA card, Visa ending in 0072',
      'Card, Visa ending in 4242',
      '$58.85',
      '$58.88',
      '$117.73',
    ])
      expect(html).toContain(fact);
    const folder = join(eligo.home.root, 'mail');
    const files = existsSync(folder) ? readdirSync(folder) : [];
    const mails = files.map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(mails.filter((mail) => mail.includes(text(receipt, 'receipt_id')))).toHaveLength(1);
    expect(mails[0]).toContain('To: ada@example.com');
  });

  it('has a confirm say that the shop collects the rest in another way [D14.86]', async () => {
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    await confirm(api, session, card);
    const receipt = await receiptOf(session);
    expect(receipt).toMatchObject({ amount: 5_885 });
    expect(await htmlOf(receipt)).toContain('Paid to Care &#38; Co in another way');
  });

  it('has the receipt of a subscription mailed again on request, with the same documents [D14.88]', async () => {
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    const price = await make(api, '/v1/prices', 'price', {
      product: shop.eligibleProductId,
      unit_amount: 1_900,
      recurring: { interval: 'month' },
    });
    const fields = { mode: 'subscription', customer, line_items: [{ price: text(price, 'price_id'), quantity: 1 }] };
    const body = { ...fields, success_url: 'https://shop.example/ok' };
    const session = text(await make(api, '/v1/checkout/sessions', 'checkout_session', body), 'checkout_session_id');
    const done = await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
      body: { checkout_session: { payment_method: card } },
    });
    const subscription = text(record(done, 'checkout_session'), 'subscription');
    const receipt = await receiptOf(session);
    const html = await htmlOf(receipt);
    const resent = await api.ok('POST', `/v1/subscriptions/${subscription}/receipts/resend`);
    expect(resent).toEqual({ receipt_ids: [text(receipt, 'receipt_id')] });
    const listed = await api.ok('GET', `/v1/receipts?subscription=${subscription}`);
    expect(listed).toMatchObject({ receipts: [{ receipt_id: receipt.receipt_id, subscription }] });
    expect(await htmlOf(await receiptOf(session))).toBe(html);
  });
});

it('answers 404 for a receipt that is not the account’s [D14.86]', async () => {
  const answer = await api.get('/v1/receipts/frcpt_00000000000000000000000000');
  expect([answer.status, answer.body]).toMatchObject([404, { code: 'receipt_not_found' }]);
});

it('a shop without the feature sends no mail to its shoppers [D14.86]', async () => {
  const plain = eligo.api(eligo.testApiKey);
  const customer = await newCustomer(plain);
  const card = await newCard(plain, customer, 'hsa');
  const session = text(await newSession(plain, await openShop(plain), { customer }), 'checkout_session_id');
  await confirm(plain, session, card);
  expect(await plain.ok('GET', '/v1/receipts')).toEqual({ receipts: [], has_more: false });
});
