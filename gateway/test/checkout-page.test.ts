import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { CustomTextSchema } from '@eligo/proto/checkout/v1/checkout';
import { openPageTokens } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { updateAccount } from '../src/accounts/index.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';

let stack: TestGateway;
let url: string;
let sample: { session: object };
const tokens = openPageTokens(testPageKey);

beforeAll(async () => {
  stack = await openTestGateway();
});
// A gateway of its own for each test: the limits count for all that an address asks for.
beforeEach(async () => {
  ({ url } = await stack.another());
  const { checkout_session: session, line_item: line } = stack.peers.samples;
  const open = { ...session, status: 'open', mode: 'payment', shippingAddressCollection: false };
  const { customText: _text, nextAction: _action, shippingDetails: _address, ...plain } = open;
  sample = {
    ...{ session: plain, lineItems: [line], dueNowCents: 1_000n, healthCardCents: 400n },
    ...{ processor: 'sandbox', processorAccount: 'acct_0123456789abcdef' },
  };
  stack.peers.answer('getPage', () => sample);
  stack.peers.seen.length = 0;
});
afterEach(() => stack.peers.restore());
afterAll(() => stack?.stop());

const sessionId = () => stack.peers.samples.checkout_session.checkoutSessionId;
const token = (id = sessionId(), testMode = true) => tokens.tokenOf({ accountId: stack.accountId, testMode, id });
const pay = (body: unknown, at = token()) =>
  fetch(`${url}/pay/${at}/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const card = (slot: 'health' | 'other') => ({ payment_method: `pm_${slot}0123456789`, slot });
const callsOf = (method: string) => stack.peers.seen.filter((seen) => seen.method === method);

describe('the checkout page', () => {
  test('is a document that loads from the gateway, the card fields and the logo alone, and is never cached [D14.82]', async () => {
    await updateAccount(stack.database, stack.accountId, { logoUrl: 'https://cdn.example/logo.svg' });
    const reply = await fetch(`${url}/pay/${token()}`);
    expect(reply.status).toBe(200);
    const headers = Object.fromEntries(reply.headers);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https://cdn.example; " +
        "frame-src https://cards.example; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const [script = ''] = /assets\/[^"]+\.js/.exec(await reply.text()) ?? [];
    const asset = await fetch(`${url}/pay/${script}`);
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(asset.headers.get('content-encoding')).toBe('gzip');
    expect((await asset.text()).length).toBeGreaterThan(1_000);
    await updateAccount(stack.database, stack.accountId, { logoUrl: null });
  });

  test('opens one session, in its account and mode, without a key [D14.80]', async () => {
    const reply = await fetch(`${url}/pay/${token()}/session`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toMatchObject({
      state: 'open',
      due_now: 1_000,
      health_card_amount: 400,
      other_card_amount: 600,
      shop: { name: 'A shop' },
      card_fields: {
        url: 'https://cards.example/fields/card?account=acct_0123456789abcdef',
        origin: 'https://cards.example',
      },
    });
    const [{ call } = { call: undefined }] = callsOf('getPage');
    expect(call?.scope).toEqual({ accountId: stack.accountId, testMode: true });
    expect(call?.caller).toMatchObject({ features: [] });
  });

  test.each(['', 'x', 'assets'])('what is no token (%j) opens nothing and asks no service [D14.80]', async (text) => {
    const document = await fetch(`${url}/pay/${text}`);
    expect(document.status).toBe(404);
    const reply = await fetch(`${url}/pay/${text}/session`);
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: text === 'assets' ? 'not_found' : 'checkout_session_not_found' });
    const other = openPageTokens('k'.repeat(32)).tokenOf({
      accountId: stack.accountId,
      testMode: true,
      id: sessionId(),
    });
    expect((await fetch(`${url}/pay/${other}/session`)).status).toBe(404);
    expect(stack.peers.seen).toEqual([]);
  });

  test('is no API key, and an API key is no page token [D14.80]', async () => {
    const asKey = await fetch(`${url}/v1/prices`, { headers: { authorization: `Bearer ${token()}` } });
    expect(asKey.status).toBe(401);
    expect((await fetch(`${url}/pay/${stack.api.key}/session`)).status).toBe(404);
  });

  test('pays with the cards in their slots, the health card first [D14.81]', async () => {
    const reply = await pay({ cards: [card('other'), card('health')] });
    expect(reply.status).toBe(200);
    const [{ request } = { request: undefined }] = callsOf('completeSession');
    expect(request).toMatchObject({
      id: sessionId(),
      onPage: true,
      paymentMethod: card('health').payment_method,
      paymentMethodSlot: 'health',
      secondPaymentMethod: card('other').payment_method,
      secondPaymentMethodSlot: 'other',
    });
  });

  test.each([
    ['no card', { cards: [] }],
    ['no list of cards', {}],
    ['a payment method of the API', { cards: [{ payment_method: newId('payment_method'), slot: 'other' }] }],
    ['a ready card of the sandbox', { cards: [{ payment_method: 'pm_card_visa', slot: 'other' }] }],
    ['a test card’s name', { cards: [{ payment_method: 'hsa', slot: 'health' }] }],
    ['two cards in one slot', { cards: [card('other'), card('other')] }],
    ['three cards', { cards: [card('other'), card('health'), card('other')] }],
    ['a card number', { cards: [{ payment_method: '4242424242424242', slot: 'other' }] }],
    ['an unknown field', { cards: [card('other')], amount: 1 }],
  ])('refuses %s before anything is asked of checkout but the session [D14.82]', async (_what, body) => {
    const reply = await pay(body);
    expect(reply.status).toBe(422);
    expect(await reply.text()).not.toContain('4242424242424242');
    expect(callsOf('completeSession')).toEqual([]);
  });

  test('needs the address and the terms where the session asks for them [D14.82]', async () => {
    stack.peers.answer('getPage', () => ({
      session: {
        ...sample.session,
        shippingAddressCollection: true,
        customText: create(CustomTextSchema, { termsOfServiceCheckboxRequired: true }),
      },
      ...{ lineItems: [], dueNowCents: 1_000n, healthCardCents: 0n },
    }));
    const refused = await pay({ cards: [card('other')] });
    expect(refused.status).toBe(422);
    const { detail } = (await refused.json()) as { detail: { loc: string[] }[] };
    expect(detail.map(({ loc }) => loc[1])).toEqual(['shipping_details', 'terms_accepted']);
    const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postal_code: '62701', country: 'US' };
    const paid = await pay({ cards: [card('other')], shipping_details: address, terms_accepted: true });
    expect(paid.status).toBe(200);
    const [{ request } = { request: undefined }] = callsOf('completeSession');
    expect(request?.shippingDetails).toMatchObject({ line1: '1 Main St', postalCode: '62701' });
  });

  test('refuses other methods, other bodies and large ones in JSON', async () => {
    const wrong = await fetch(`${url}/pay/${token()}/pay`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    const form = await fetch(`${url}/pay/${token()}/pay`, { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
    expect(form.status).toBe(415);
    expect((await pay({ cards: [], pad: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await fetch(`${url}/pay/${token()}/other`)).status).toBe(404);
  });

  test('says what checkout refuses, with its code', async () => {
    stack.peers.answer('completeSession', () => {
      throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
    });
    const reply = await pay({ cards: [card('other')] });
    expect(reply.status).toBe(503);
    expect(await reply.json()).toMatchObject({ code: 'lock_timeout' });
  });

  test('limits payments of a session, and what an address may ask for', async () => {
    const payments = await Promise.all([1, 2, 3, 4, 5, 6].map(() => pay({ cards: [] })));
    expect(payments.map(({ status }) => status).sort()).toEqual([422, 422, 422, 422, 429, 429]);
    const guesses = await Promise.all(Array.from({ length: 120 }, () => fetch(`${url}/pay/guess/session`)));
    const refused = guesses.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});
