import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newSandbox, sdk, sender } from './support.ts';

const account = 'acct_fields00001';
const typed = { account, number: '4000051230000072', expMonth: 12, expYear: 2039, cvc: '123' };

const tokenize = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/fields/payment_methods`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('the card fields', () => {
  test('are a document that the page of one origin may show, and that runs its own script alone', async () => {
    const { url } = await newSandbox();
    const parent = 'https://pay.example';
    const reply = await fetch(`${url}/fields/card?account=${account}&parent=${encodeURIComponent(parent)}`);
    expect(reply.status).toBe(200);
    const policy = reply.headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`frame-ancestors ${parent}`);
    expect(policy).toContain("default-src 'none'");
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('content-encoding')).toBe('gzip');
    const document = await reply.text();
    for (const [name, kind] of Object.entries({ script: 'script-src', style: 'style-src' })) {
      const inside = [...document.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, text = '']) => text);
      expect(inside).toHaveLength(1);
      const hash = createHash('sha256').update(inside.join('')).digest('base64');
      expect(policy.split('; ')).toContain(`${kind} 'sha256-${hash}'`);
    }
    // It loads nothing: a frame is there with one answer.
    expect(document).not.toMatch(/\s(?:src|href)=/);
    const plain = await fetch(reply.url, { headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, document]);
  });

  test.each([
    'account=acct_fields00001',
    'account=acct_fields00001&parent=*',
    'account=acct_fields00001&parent=https://pay.example/path',
    "account=acct_fields00001&parent=https://pay.example;script-src 'unsafe-inline'",
    'account=self&parent=https://pay.example',
  ])('are not shown without one account and one origin: %s', async (query) => {
    const { url } = await newSandbox();
    expect((await fetch(`${url}/fields/card?${query}`)).status).toBe(400);
  });

  test('make a payment method of a typed card in the account, and tell nothing but its identifier [D14.81]', async () => {
    const { url } = await newSandbox();
    const reply = await tokenize(url, typed);
    expect(reply.status).toBe(200);
    const made = (await reply.json()) as { id: string };
    expect(made).toEqual({ id: expect.stringMatching(/^pm_[0-9A-Za-z]+$/), brand: 'visa', last4: '0072' });
    expect((await sender(url, account).get(`/v1/payment_methods/${made.id}`)).status).toBe(200);
    expect((await sender(url, 'acct_another0001').get(`/v1/payment_methods/${made.id}`)).status).toBe(404);
  });

  test('let a bank ask who has the client secret of an intent, once [D14.112]', async () => {
    const { url } = await newSandbox();
    const stripe = sdk(url, account);
    const waiting = async () =>
      stripe.paymentIntents.create({
        ...{ amount: 1000, currency: 'usd', payment_method: 'pm_card_authenticationRequired', confirm: true },
      });
    const answer = (client_secret: unknown, outcome: string, headers: Record<string, string> = {}) =>
      fetch(`${url}/fields/authentications`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url, ...headers },
        body: JSON.stringify({ client_secret, outcome }),
      });
    const [passed, failed] = [await waiting(), await waiting()];
    expect((await answer(`${passed.id}_secret_guess`, 'success')).status).toBe(400);
    expect((await answer(passed.id, 'success')).status).toBe(400);
    expect((await answer(passed.client_secret, 'success', { origin: 'https://pay.example' })).status).toBe(403);
    const twice = await Promise.all([1, 2].map(() => answer(passed.client_secret, 'success')));
    expect(twice.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    expect((await answer(failed.client_secret, 'failure')).status).toBe(200);
    expect(await stripe.paymentIntents.retrieve(passed.id)).toMatchObject({
      status: 'succeeded',
      amount_received: 1000,
    });
    expect(await stripe.paymentIntents.retrieve(failed.id)).toMatchObject({ status: 'requires_payment_method' });
    const document = await fetch(`${url}/fields/challenge?parent=${encodeURIComponent('https://pay.example')}`);
    expect(document.headers.get('content-security-policy')).toContain('frame-ancestors https://pay.example');
    expect((await fetch(`${url}/fields/challenge?parent=*`)).status).toBe(400);
  });

  test('set a card up for who has the client secret of a set-up intent, once [D14.259]', async () => {
    const { url } = await newSandbox();
    const stripe = sdk(url, account);
    const customer = await stripe.customers.create({});
    const setup = await stripe.setupIntents.create({ customer: customer.id });
    const other = await stripe.setupIntents.create({ customer: customer.id });
    const intent = await stripe.paymentIntents.create({ amount: 1000, currency: 'usd' });
    const { id } = (await (await tokenize(url, typed)).json()) as { id: string };
    const give = (client_secret: unknown, payment_method: unknown, headers: Record<string, string> = {}) =>
      fetch(`${url}/fields/set_ups`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: url, ...headers },
        body: JSON.stringify({ client_secret, payment_method }),
      });
    for (const wrong of [`${setup.id}_secret_guess`, setup.id, intent.client_secret, undefined]) {
      expect((await give(wrong, id)).status).toBe(400);
    }
    expect((await give(setup.client_secret, 'pm_unknown')).status).toBe(400);
    expect((await give(setup.client_secret, id, { origin: 'https://pay.example' })).status).toBe(403);
    expect((await give(setup.client_secret, 'pm_card_chargeDeclined')).status).toBe(402);
    const given = await give(setup.client_secret, id);
    expect([given.status, await given.json()]).toEqual([200, { status: 'succeeded' }]);
    expect(await stripe.setupIntents.retrieve(setup.id)).toMatchObject({ status: 'succeeded', payment_method: id });
    expect(await stripe.paymentMethods.retrieve(id)).toMatchObject({ customer: customer.id });
    expect((await give(setup.client_secret, id)).status).toBe(400);
    const asked = await give(other.client_secret, 'pm_card_authenticationRequired');
    expect(await asked.json()).toEqual({ status: 'requires_action' });
  });

  test('refuse what is no test card, is incomplete or has expired', async () => {
    const { url } = await newSandbox();
    const other = await tokenize(url, { ...typed, number: '4111111111111111' });
    expect([other.status, await other.json()]).toEqual([402, { error: 'test_mode_live_card' }]);
    expect((await tokenize(url, { ...typed, expYear: 2020 })).status).toBe(402);
    for (const wrong of [
      '',
      '[]',
      'null',
      '{',
      { ...typed, cvc: '1' },
      { ...typed, number: '42' },
      { ...typed, account: 'x' },
    ])
      expect((await tokenize(url, wrong)).status).toBe(400);
  });

  test('take no request from a page of another origin, from a form, or without an origin', async () => {
    const { url } = await newSandbox();
    for (const headers of [{ origin: 'https://shop.example' }, { origin: 'null' }, { 'content-type': 'text/plain' }])
      expect((await tokenize(url, typed, headers as Record<string, string>)).status).toBe(403);
    const asked = await fetch(`${url}/fields/payment_methods`, {
      method: 'OPTIONS',
      headers: { origin: 'https://shop.example' },
    });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });

  test('serve no other file', async () => {
    const { url } = await newSandbox();
    for (const path of ['assets/x.js', 'assets/..%2f..%2fpackage.json', 'assets/../fields.html', 'index.html', ''])
      expect((await fetch(`${url}/fields/${path}`)).status).toBe(404);
  });
});
