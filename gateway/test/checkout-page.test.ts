import { Failure } from '@eligo/failures';
import { openPageTokens } from '@eligo/service';
import { newId } from '@eligo/values';
import { answeredWithinMs } from '@eligo/web-checkout/document';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { updateAccount } from '../src/accounts/index.ts';
import { moneyTimeoutMs } from '../src/http/call-budget.ts';
import { firstViewTests } from './first-view.ts';
import { openTestGateway, type TestGateway, testPageKey } from './open-test-gateway.ts';
import { stopLimiterClock } from './stop-limiter-clock.ts';

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
  const open = {
    ...session,
    status: 'open',
    mode: 'payment',
    shippingAddressCollection: false,
    allowPromotionCodes: false,
  };
  const { customText: _text, nextAction: _action, shippingDetails: _address, ...plain } = open;
  sample = {
    ...{ session: plain, lineItems: [line], dueNowCents: 1_000n, healthCardCents: 400n },
    ...{ processor: 'sandbox', processorAccount: 'acct_0123456789abcdef' },
  };
  stack.peers.answer('getPage', () => sample);
  stack.peers.answer('payOnPage', () => ({ result: { case: 'session', value: sample.session } }));
  stack.peers.seen.length = 0;
});
afterEach(() => stack.peers.restore());
afterAll(() => stack?.stop());

const sessionId = () => stack.peers.samples.checkout_session.checkoutSessionId;
const token = (id = sessionId(), testMode = true) => tokens.tokenOf({ accountId: stack.accountId, testMode, id });
const send = (to: string, body: unknown) =>
  fetch(to, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const pay = (body: unknown, at = token()) => send(`${url}/pay/${at}/pay`, body);
const answerLetter = (body: unknown, at = token()) => send(`${url}/pay/${at}/letter`, body);
const changeCode = (body: unknown, at = token()) => send(`${url}/pay/${at}/promo-code`, body);
const card = (slot: 'health' | 'other') => ({ payment_method: `pm_${slot}0123456789`, slot });
const callsOf = (method: string) => stack.peers.seen.filter((seen) => seen.method === method);

firstViewTests(() => ({
  ...{ stack, url, path: `/pay/${token()}` },
  session: () => sample,
  become: (next) => {
    sample = next;
  },
}));

describe('the checkout page', () => {
  test('cancels an open session alone, which checkout sees to; the partner cancels one with authorized cards too [D14.82]', async () => {
    expect((await send(`${url}/pay/${token()}/cancel`, {})).status).toBe(200);
    await stack.api.post(`/v1/checkout/sessions/${sessionId()}/cancel`);
    expect(callsOf('cancelSession').map(({ request }) => [request.id, request.onlyOpen])).toEqual([
      [sessionId(), true],
      [sessionId(), false],
    ]);
    stack.peers.answer('cancelSession', () => {
      throw new Failure('checkout_session_already_processed');
    });
    const refused = await send(`${url}/pay/${token()}/cancel`, {});
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ code: 'checkout_session_already_processed' });
  });

  test('shows Stripe’s fields in live mode alone, and names Stripe’s origins on no other page [D14.110]', async () => {
    await updateAccount(stack.database, stack.accountId, { publishableKey: 'pk_live_0123456789abcdef' });
    const policyOf = async (path: string) =>
      (await fetch(`${url}/pay/${path}`)).headers.get('content-security-policy') ?? '';
    const live = token(sessionId(), false);
    expect(await policyOf(live)).toBe(
      "default-src 'none'; script-src 'self' https://js.stripe.com https://*.js.stripe.com; style-src 'self'; " +
        "connect-src 'self' https://api.stripe.com; img-src 'self'; " +
        "frame-src https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    for (const path of [token(), 'x']) expect(await policyOf(path)).not.toContain('stripe.com');
    const fieldsOf = async (path: string) =>
      ((await (await fetch(`${url}/pay/${path}/session`)).json()) as { card_fields: unknown }).card_fields;
    expect(await fieldsOf(token())).toMatchObject({ kind: 'sandbox' });
    const { processor: _none, ...unconfigured } = sample as { processor?: string; session: object };
    sample = { ...sample, session: { ...sample.session, testMode: false } };
    expect(await fieldsOf(live)).toEqual({
      ...{ kind: 'stripe', publishable_key: 'pk_live_0123456789abcdef', account: 'acct_0123456789abcdef' },
      ...{ keeps_card: true, on_session_only: false },
    });
    // Stripe's script is loaded together with the page's own, on the pages that show its fields.
    const linkOf = async (path: string) => (await fetch(`${url}/pay/${path}`)).headers.get('link');
    expect(await linkOf(live)).toBe('<https://js.stripe.com/endive/stripe.js>; rel=preload; as=script');
    sample = { ...unconfigured, session: sample.session };
    expect(await fieldsOf(live)).toBeNull();
    expect(await linkOf(live)).toBeNull();
    await updateAccount(stack.database, stack.accountId, { publishableKey: null });
    expect(await policyOf(live)).not.toContain('stripe.com');
  });

  test('opens one session, in its account and mode, without a key [D14.80]', async () => {
    const reply = await fetch(`${url}/pay/${token()}/session`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toMatchObject({
      state: 'open',
      due_now: 1_000,
      health_card_amount: 400,
      other_card_amount: 600,
      first_renewal: null,
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

  test('shows what each card pays at the first renewal after a trial [D14.180]', async () => {
    sample = {
      ...sample,
      ...{ dueNowCents: 0n, healthCardCents: 0n, renewalCents: 1_000n, renewalHealthCardCents: 400n },
    };
    expect(await (await fetch(`${url}/pay/${token()}/session`)).json()).toMatchObject({
      ...{ due_now: 0, health_card_amount: 0, other_card_amount: 0 },
      first_renewal: { health_card_amount: 400, other_card_amount: 600 },
    });
  });

  test.each(['', 'x', 'assets'])('what is no token (%j) opens nothing and asks no service [D14.80]', async (text) => {
    const document = await fetch(`${url}/pay/${text}`);
    expect(document.status).toBe(404);
    const reply = await fetch(`${url}/pay/${text}/session`);
    expect(reply.status).toBe(404);
    const noPage = text === '' || text === 'assets';
    expect(await reply.json()).toMatchObject({ code: noPage ? 'not_found' : 'checkout_session_not_found' });
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
    const [{ request } = { request: undefined }] = callsOf('payOnPage');
    expect(request).toMatchObject({
      id: sessionId(),
      cards: [
        { paymentMethod: card('health').payment_method, slot: 'health' },
        { paymentMethod: card('other').payment_method, slot: 'other' },
      ],
      ...{ shippingCountries: ['US'], termsAccepted: false },
    });
  });

  test('shows what the answer to a payment brings, and reads the page again only where more is to come [D14.82]', async () => {
    expect(await (await pay({ cards: [card('other')] })).json()).toMatchObject({ state: 'open' });
    expect(callsOf('getPage')).toHaveLength(1);
    const paid = { ...sample, session: { ...sample.session, status: 'complete' } };
    stack.peers.answer('payOnPage', () => ({ result: { case: 'page', value: paid } }));
    expect(await (await pay({ cards: [card('other')] })).json()).toMatchObject({ state: 'complete' });
    expect(callsOf('getPage')).toHaveLength(1);
  });

  test('answers within the time after which the page says that a lost payment did not begin [D14.83]', () => {
    expect(moneyTimeoutMs).toBe(answeredWithinMs);
  });

  test('asks checkout what came of an authentication, and shows the one that a bank waits for [D14.112]', async () => {
    const authenticate = (body: unknown) => send(`${url}/pay/${token()}/authenticate`, body);
    sample = { ...sample, ...{ clientSecret: 'pi_1_secret_2' } };
    expect(await (await authenticate({})).json()).toMatchObject({
      authentication: { kind: 'sandbox', url: 'https://cards.example/fields/challenge#pi_1_secret_2' },
    });
    expect((await authenticate({ give_up: true })).status).toBe(200);
    expect(callsOf('resumeAuthentication').map(({ request }) => request)).toMatchObject([
      { id: sessionId(), giveUp: false },
      { id: sessionId(), giveUp: true },
    ]);
    expect((await authenticate({ succeeded: true })).status).toBe(422);
    expect((await fetch(`${url}/pay/${token()}/authenticate`)).status).toBe(405);
  });

  test('goes on with a saved card whose bank has answered, within the limit of payments, and reads again [D14.170]', async () => {
    stopLimiterClock();
    const look = async () => (await fetch(`${url}/pay/${token()}/session`)).json();
    const answered = { ...sample, paymentInFlight: true, setUpAnswered: true };
    stack.peers.answer('getPage', () => (callsOf('resumeAuthentication').length === 1 ? sample : answered));
    expect(await look()).toMatchObject({ payment_in_flight: false });
    expect(callsOf('resumeAuthentication').map(({ request }) => request)).toMatchObject([
      { id: sessionId(), giveUp: false },
    ]);
    // Where it fails the page waits, the log says why, and looks that come too fast ask checkout for the page alone.
    stack.peers.seen.length = 0;
    stack.log.length = 0;
    stack.peers.answer('getPage', () => answered);
    stack.peers.answer('resumeAuthentication', () => {
      throw new Failure('service_unavailable');
    });
    for (let count = 0; count < 6; count++) expect(await look()).toMatchObject({ payment_in_flight: true });
    expect(callsOf('getPage')).toHaveLength(6);
    // The burst is of four, and the look above was the first.
    const tries = callsOf('resumeAuthentication').length;
    expect(tries).toBe(3);
    const told = stack.log.filter((line) => line.includes('Failed to continue the checkout after'));
    expect(told).toEqual(Array(tries).fill(expect.stringContaining(`"sessionId":"${sessionId()}"`)));
  });

  test('seals the answers to a letter’s questions at checkout, and takes no others [D14.113]', async () => {
    const answers = { condition: 'Back pain', reason: 'It relieves the pain', consent: true };
    stack.peers.answer('submitLetterAnswers', () => ({}));
    expect((await answerLetter(answers)).status).toBe(200);
    const [{ request } = { request: undefined }] = callsOf('submitLetterAnswers');
    expect(request).toMatchObject({ checkoutSessionId: sessionId(), answers: JSON.stringify(answers) });
    for (const wrong of [
      { ...answers, consent: false },
      { ...answers, condition: ' ' },
      { ...answers, reason: 'x'.repeat(2_001) },
      { ...answers, provider: '4242 4242 4242 4242' },
      { ...answers, approved: true },
    ]) {
      const reply = await answerLetter(wrong, token(newId('checkout_session')));
      expect(reply.status).toBe(422);
      expect(await reply.text()).not.toContain('Back pain');
    }
    expect(callsOf('submitLetterAnswers')).toHaveLength(1);
  });

  test('enters a promo code and removes it, and pays only amounts that were shown [D14.165, D14.167]', async () => {
    stack.peers.answer('changePromoCode', () => sample.session);
    sample = {
      ...sample,
      ...{ splitVersion: 'fsplit_1.fdi_2', takesPromoCode: true, promoCode: 'TEN', promoCodeCents: 100n },
    };
    expect(await (await changeCode({ code: ' ten ' })).json()).toMatchObject({
      split_version: 'fsplit_1.fdi_2',
      promo_code: { can_change: true, entered: { code: 'TEN', amount: 100 } },
    });
    expect((await changeCode({ code: null })).status).toBe(200);
    const asked = callsOf('changePromoCode').map(({ request }) => request.code);
    expect(asked).toEqual(['ten', undefined]);
    for (const wrong of [{}, { code: '' }, { code: 'x'.repeat(501) }, { code: '4242 4242 4242 4242' }]) {
      expect((await changeCode(wrong, token(newId('checkout_session')))).status).toBe(422);
    }
    for (const shown of [{}, { shown_split: 'fsplit_1.fdi_2' }]) {
      expect((await pay({ cards: [card('other')], ...shown })).status).toBe(200);
    }
    expect(callsOf('payOnPage').map(({ request }) => request.shownSplit)).toEqual([undefined, 'fsplit_1.fdi_2']);
  });

  test.each([
    ['no list of cards', {}],
    ['a payment method of the API', { cards: [{ payment_method: newId('payment_method'), slot: 'other' }] }],
    ['a ready card of the sandbox', { cards: [{ payment_method: 'pm_card_visa', slot: 'other' }] }],
    ['a test card’s name', { cards: [{ payment_method: 'hsa', slot: 'health' }] }],
    ['two cards in one slot', { cards: [card('other'), card('other')] }],
    ['three cards', { cards: [card('other'), card('health'), card('other')] }],
    ['a token of a card', { cards: [{ payment_method: 'ctoken_', slot: 'other' }] }],
    ['a card number', { cards: [{ payment_method: '4242424242424242', slot: 'other' }] }],
    ['an unknown field', { cards: [card('other')], amount: 1 }],
    ['an e-mail address that is none', { cards: [card('other')], email: 'ann example.com' }],
    ['a card number for an e-mail address', { cards: [card('other')], email: '4242424242424242' }],
  ])('refuses %s before anything is asked of checkout [D14.82]', async (_what, body) => {
    const reply = await pay(body);
    expect(reply.status).toBe(422);
    expect(await reply.text()).not.toContain('4242424242424242');
    expect(stack.peers.seen).toEqual([]);
  });

  test('tells checkout where the shop ships to, what the shopper typed and accepted [D14.82, D14.174, D14.364]', async () => {
    const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postal_code: '62701', country: 'US' };
    const typed = { shipping_details: address, terms_accepted: true, email: ' ann@example.com ' };
    const body = { cards: [card('other')], ...typed };
    await updateAccount(stack.database, stack.accountId, { shippingCountries: ['US', 'HK'] });
    expect((await pay(body)).status).toBe(200);
    await updateAccount(stack.database, stack.accountId, { shippingCountries: null });
    expect((await pay({ cards: [] })).status).toBe(200);
    const [given, none] = callsOf('payOnPage').map(({ request }) => request);
    expect(given).toMatchObject({
      shippingDetails: { line1: '1 Main St', city: 'Springfield', postalCode: '62701', country: 'US' },
      ...{ shippingCountries: ['US', 'HK'], termsAccepted: true, email: 'ann@example.com' },
    });
    expect(none).toMatchObject({ cards: [], shippingCountries: ['US'], termsAccepted: false });
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
    stack.peers.answer('payOnPage', () => {
      throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
    });
    const reply = await pay({ cards: [card('other')] });
    expect(reply.status).toBe(503);
    expect(await reply.json()).toMatchObject({ code: 'lock_timeout' });
  });

  test('limits payments of a session, answers to its letter, promo codes, and what an address may ask for [D14.168, D14.171]', async () => {
    stopLimiterClock();
    const payments = await Promise.all([1, 2, 3, 4, 5, 6].map(() => pay({})));
    expect(payments.map(({ status }) => status).sort()).toEqual([422, 422, 422, 422, 429, 429]);
    // Fewer than an address may send: the session's own limit refuses them, and counts no payment.
    const letters = await Promise.all([1, 2, 3, 4, 5, 6].map(() => answerLetter({})));
    expect(letters.map(({ status }) => status).sort()).toEqual([422, 422, 422, 422, 429, 429]);
    expect((await answerLetter({}, token(newId('checkout_session')))).status).toBe(422);
    const codes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => changeCode({})));
    expect(codes.map(({ status }) => status).sort()).toEqual([422, 422, 422, 422, 429, 429]);
    const guesses = await Promise.all(Array.from({ length: 300 }, () => fetch(`${url}/pay/guess/session`)));
    const refused = guesses.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('the payment page of an invoice', () => {
  const invoiceTokens = openPageTokens(testPageKey, 'invoice');
  const at = (action = '', tokensOfKind = invoiceTokens) => {
    const id = stack.peers.samples.invoice.invoiceId;
    return `${url}/invoice/${tokensOfKind.tokenOf({ accountId: stack.accountId, testMode: true, id })}${action}`;
  };
  const post = (action: string, body: object) => send(at(action), body);
  beforeEach(() => {
    const page = {
      ...{ invoice: stack.peers.samples.invoice, lines: [], dueCents: 1_500n, healthCardCents: 1_000n, payable: true },
      ...{ failureCode: 'card_declined', declineCode: 'expired_card', processor: 'sandbox' },
      ...{ processorAccount: 'acct_0123456789abcdef', paymentInFlight: true, clientSecret: 'pi_1_secret_2' },
    };
    for (const method of ['getInvoicePage', 'payInvoiceOnPage', 'resumeInvoicePayment']) {
      stack.peers.answer(method, () => page);
    }
  });

  test('shows what is due and why the payment failed, under the policy of the checkout page [D14.230]', async () => {
    const document = await fetch(at());
    expect(document.status).toBe(200);
    expect(document.headers.get('content-security-policy')).toContain(
      "frame-src https://cards.example; base-uri 'none'",
    );
    expect(await (await fetch(at('/session'))).json()).toMatchObject({
      ...{ state: 'open', due_now: 1_500, health_card_amount: 1_000, other_card_amount: 500 },
      next_action: { payment_failed: { decline_code: 'expired_card', error_code: 'card_declined' } },
      authentication: { url: 'https://cards.example/fields/challenge#pi_1_secret_2' },
    });
  });

  test('has the documents of its invoice, which load nothing and are never cached, for its own token alone [D14.193]', async () => {
    const html = await fetch(at('/document.html'));
    expect(html.headers.get('content-security-policy')).toContain("default-src 'none'; style-src 'unsafe-inline'");
    expect(html.headers.get('permissions-policy')).toContain('camera=()');
    expect(await html.text()).toContain('Invoice from A shop');
    const pdf = await fetch(at('/document.pdf'));
    expect([pdf.status, pdf.headers.get('content-type')]).toEqual([200, 'application/pdf']);
    for (const { headers } of [html, pdf]) expect(headers.get('cache-control')).toBe('no-store');
    expect(callsOf('getInvoiceStatement')[0]?.call?.scope).toEqual({ accountId: stack.accountId, testMode: true });
    for (const document of ['/document.html', '/document.pdf']) {
      expect((await fetch(at(document, tokens))).status).toBe(404);
    }
  });

  test('takes cards and authentications for its invoice, with what the account may charge, and nothing else [D14.230, D14.231]', async () => {
    expect((await post('/pay', { cards: [] })).status).toBe(422);
    expect((await post('/pay', { cards: [card('health')] })).status).toBe(200);
    expect((await post('/authenticate', { give_up: true })).status).toBe(200);
    const [paid, resumed] = [...callsOf('payInvoiceOnPage'), ...callsOf('resumeInvoicePayment')];
    expect(paid?.request).toMatchObject({
      cards: [{ processorPaymentMethodId: 'pm_health0123456789', slot: 'health' }],
    });
    expect(paid?.call?.scope).toEqual({ accountId: stack.accountId, testMode: true });
    expect(resumed?.request).toMatchObject({ giveUp: true });
    for (const action of ['/cancel', '/letter']) expect((await post(action, {})).status).toBe(404);
    const foreign = await fetch(at('/session', tokens));
    expect(foreign.status).toBe(404);
    expect(await foreign.json()).toMatchObject({ code: 'invoice_not_found' });
  });
});
