import { type FailureCode, failureTable } from '@eligo/failures';
import { paddedPdf } from '@eligo/pdf/padded-pdf';
import { type Api, type ApiAnswer, type Constellation, startConstellation } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { booksAgree, stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';
import { uploadFile } from '../src/upload-file.ts';
import { sessionRefusalTests } from './session-refusals.ts';

/**
 * Every error code that a route declares is the answer to some public request. The codes of the confirm table are reached by its own test; here
 * are the others. Which test reaches which code stands in docs/spec/error-codes.md.
 */
describe('error codes, each as the answer to a public request', () => {
  let eligo: Constellation;
  let api: Api;
  let shop: Shop;
  let customer: string;
  let card: string;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    shop = await openShop(api);
    customer = await newCustomer(api);
    card = await newCard(api, customer, 'hsa', { off_session: true });
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  // Whatever happened, the end of its text says what to do about it.
  const coded = (status: number, code: FailureCode) => ({
    status,
    body: { code, detail: expect.stringMatching(new RegExp(`^[A-Z].*[.] ${literal(failureTable[code].remedy)}$`)) },
  });
  const listed = (type: string, ...loc: string[]) => ({
    status: 422,
    body: { detail: [{ loc: ['body', ...loc], msg: expect.any(String), type }] },
  });
  const keyWith = async (...options: string[]) =>
    eligo.api(
      text(
        await runCli(eligo, ['keys', 'create', '--account', eligo.account, '--mode', 'test', ...options]),
        'api_key',
      ),
    );
  const idOf = async (session: Json | Promise<Json>) => text(await session, 'checkout_session_id');
  const create = (fields: Json, at: Api = api): Promise<ApiAnswer> =>
    at.post('/v1/checkout/sessions', {
      checkout_session: {
        line_items: [{ price: shop.eligiblePriceId, quantity: 1 }],
        success_url: 'https://shop.example/done',
        ...fields,
      },
    });
  const refund = (id: string, fields: Json) =>
    api.post(`/v1/checkout/sessions/${id}/refund`, { checkout_session: fields });
  const paidSession = async () => {
    const id = await idOf(newSession(api, shop, { customer }));
    const answer = await confirm(api, id, card, { query: '?expand=payment_intent' });
    return { id, intent: record(record(answer.body, 'checkout_session'), 'payment_intent') };
  };

  describe('any request', () => {
    it('401 unauthorized [ERR-3]', async () => {
      expect(await eligo.api('fsk_test_nonsense').get('/v1/prices')).toMatchObject(coded(401, 'unauthorized'));
    });

    it('403 insufficient_scope [ERR-3]', async () => {
      const scopeless = await keyWith('--scopes', 'files_read');
      expect(await scopeless.get('/v1/prices')).toMatchObject(coded(403, 'insufficient_scope'));
    });

    it('403 test_mode_required [AUTH-2, GEN-2, RUN-2]', async () => {
      const live = eligo.api(eligo.liveApiKey);
      const answer = await live.get(`/v1/test_helpers/test_clocks/${newId('test_clock')}`);
      expect(answer).toMatchObject(coded(403, 'test_mode_required'));
    });

    it('429 rate_limited [ERR-3]', async () => {
      const limited = await keyWith('--rate-limit', '1');
      const answers = await Promise.all(Array.from({ length: 20 }, () => limited.get('/v1/prices')));
      expect(answers.find(({ status }) => status === 429)).toMatchObject(coded(429, 'rate_limited'));
    });

    it('404 not_found and 405 method_not_allowed [ERR-1]', async () => {
      expect(await api.get('/v1/nothing')).toMatchObject(coded(404, 'not_found'));
      expect(await api.delete('/v1/prices')).toMatchObject(coded(405, 'method_not_allowed'));
    });

    it('400 invalid_json, 413 payload_too_large and 415 unsupported_media_type [API-2]', async () => {
      expect(await api.post('/v1/prices', '{"price":')).toMatchObject(coded(400, 'invalid_json'));
      const large = `{"price":{"description":"${'x'.repeat(1_100_000)}"}}`;
      expect(await api.post('/v1/prices', large)).toMatchObject(coded(413, 'payload_too_large'));
      const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
      expect(await api.post('/v1/prices', 'price=1', form)).toMatchObject(coded(415, 'unsupported_media_type'));
    });

    it('422 validation_error as the list of what is wrong, a card number among it [ERR-2]', async () => {
      const empty = await api.post('/v1/shipping_rates', { shipping_rate: { display_name: 'Ground' } });
      expect(empty).toMatchObject(listed('missing', 'shipping_rate', 'amount'));
      const number = await api.post('/v1/customers', { customer: { employer: '4242 4242 4242 4242' } });
      expect(number).toMatchObject(listed('card_number_not_allowed', 'customer', 'employer'));
    });

    it.each([
      ['shipping_rate_not_found', 'shipping_rates', 'shipping_rate'],
      ['product_component_not_found', 'product_components', 'product_component'],
      ['product_not_found', 'products', 'product'],
      ['price_not_found', 'prices', 'price'],
      ['coupon_not_found', 'coupons', 'coupon'],
      ['promo_code_not_found', 'promo_codes', 'promo_code'],
      ['customer_not_found', 'customers', 'customer'],
      ['payment_method_not_found', 'payment_methods', 'payment_method'],
      ['payment_intent_not_found', 'payment_intents', 'payment_intent'],
      ['setup_intent_not_found', 'setup_intents', 'setup_intent'],
      ['charge_not_found', 'charges', 'charge'],
      ['capture_not_found', 'captures', 'capture'],
      ['payout_not_found', 'payouts', 'payout'],
      ['balance_transaction_not_found', 'balance_transactions', 'balance_transaction'],
      ['checkout_session_not_found', 'checkout/sessions', 'checkout_session'],
      ['letter_not_found', 'letters', 'letter'],
      ['refund_not_found', 'refunds', 'refund'],
      ['dispute_not_found', 'disputes', 'dispute'],
      ['subscription_not_found', 'subscriptions', 'subscription'],
      ['invoice_not_found', 'invoices', 'invoice'],
      ['webhook_not_found', 'webhooks', 'webhook_endpoint'],
      ['event_not_found', 'events', 'event'],
      ['test_clock_not_found', 'test_helpers/test_clocks', 'test_clock'],
    ] as const)('404 %s [ERR-1, ERR-3]', async (code, path, kind) => {
      expect(await api.get(`/v1/${path}/${newId(kind)}`)).toMatchObject(coded(404, code));
    });
  });

  describe('the catalog', () => {
    it('409 component_already_registered and client_reference_id_in_use [ERR-4]', async () => {
      const name = `Oats ${newId('request')}`;
      const register = (fields: Json) => api.post('/v1/product_components', { product_component: fields });
      expect((await register({ name, client_reference_id: name })).status).toBe(200);
      expect(await register({ name })).toMatchObject(coded(409, 'component_already_registered'));
      const other = await register({ name: `${name} rolled`, client_reference_id: name });
      expect(other).toMatchObject(coded(409, 'client_reference_id_in_use'));
    });

    it('409 lookup_key_in_use', async () => {
      const price = { product_data: { name: 'Scale' }, unit_amount: 100, lookup_key: newId('request') };
      expect((await api.post('/v1/prices', { price })).status).toBe(200);
      expect(await api.post('/v1/prices', { price })).toMatchObject(coded(409, 'lookup_key_in_use'));
    });

    it('409 promo_code_in_use, 422 promo_code_invalid and coupon_not_applicable', async () => {
      const applies_to = { prices: [shop.otherPriceId] };
      const coupon_id = text(await make(api, '/v1/coupons', 'coupon', { percent_off: 10, applies_to }), 'coupon_id');
      const promo_code = { coupon_id, code: `CODE-${newId('request')}` };
      expect((await api.post('/v1/promo_codes', { promo_code })).status).toBe(200);
      expect(await api.post('/v1/promo_codes', { promo_code })).toMatchObject(coded(409, 'promo_code_in_use'));
      const ended = await make(api, '/v1/promo_codes', 'promo_code', {
        coupon_id,
        code: `ENDED-${newId('request')}`,
        active: false,
      });
      const typed = { discounts: [{ promo_code_id: text(ended, 'promo_code_id') }] };
      const place = ['checkout_session', 'discounts', '0'];
      expect(await create(typed)).toMatchObject(listed('promo_code_invalid', ...place, 'promo_code_id'));
      const discounts = [{ coupon_id }];
      expect(await create({ discounts })).toMatchObject(listed('coupon_not_applicable', ...place, 'coupon_id'));
    });

    it('422 price_required', async () => {
      const product = text(await make(api, '/v1/products', 'product', { name: 'Unpriced' }), 'product_id');
      const answer = await create({ line_items: [{ product, quantity: 1 }] });
      expect(answer).toMatchObject(listed('price_required', 'checkout_session', 'line_items', '0', 'product'));
    });
  });

  describe('checkout', () => {
    it('422 customer_required', async () => {
      const answer = await create({ mode: 'setup', line_items: [] });
      expect(answer).toMatchObject(listed('customer_required', 'checkout_session', 'customer'));
    });

    it('400 checkout_amount_too_low', async () => {
      const line_items = [{ price_data: { product_data: { name: 'A sticker' }, unit_amount: 10 }, quantity: 1 }];
      const answer = await create({ mode: 'off_session', customer, payment_method: card, line_items });
      expect(answer).toMatchObject(coded(400, 'checkout_amount_too_low'));
    });

    it('400 checkout_session_not_open', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      await api.ok('POST', `/v1/checkout/sessions/${id}/cancel`);
      const answer = await api.post(`/v1/checkout/sessions/${id}/expire`);
      expect(answer).toMatchObject(coded(400, 'checkout_session_not_open'));
    });

    it('409 payment_method_in_use, and conflict once it is used up [D14.5]', async () => {
      const another = await newCustomer(api);
      const method = await newCard(api, customer, 'credit');
      const attach = () => api.post(`/v1/payment_methods/${method}/attach`, { payment_method: { customer: another } });
      expect(await attach()).toMatchObject(coded(409, 'payment_method_in_use'));
      await api.ok('POST', `/v1/payment_methods/${method}/detach`);
      expect(await attach()).toMatchObject(coded(409, 'conflict'));
    });

    it('503 processor_not_configured for a live charge, before anything is written [D6.4]', async () => {
      const live = eligo.api(eligo.liveApiKey);
      const product_data = { name: 'Scale', hsa_fsa_eligibility: 'auto_substantiation' };
      const price = text(await make(live, '/v1/prices', 'price', { product_data, unit_amount: 4_999 }), 'price_id');
      const { body } = await create({ line_items: [{ price, quantity: 1 }] }, live);
      const id = await idOf(record(body, 'checkout_session'));
      expect(await confirm(live, id, newId('payment_method'))).toMatchObject(coded(503, 'processor_not_configured'));
      expect(records((await live.get('/v1/payment_intents')).body, 'payment_intents')).toEqual([]);
    });
  });

  describe('captures', () => {
    const heldSession = async (cardName: string) => {
      const id = await idOf(newSession(api, shop, { customer, capture_method: 'manual' }));
      const path = `/v1/test_helpers/checkout/sessions/${id}/complete`;
      await make(api, path, 'checkout_session', { payment_method: cardName });
      return id;
    };
    const capture = (id: string, fields: Json) =>
      api.post(`/v1/checkout/sessions/${id}/capture`, { checkout_session: fields });

    it('409 checkout_session_not_capturable, 400 once it is captured [SESS-6, D14.100]', async () => {
      const open = await idOf(newSession(api, shop, { customer, capture_method: 'manual' }));
      expect(await capture(open, {})).toMatchObject(coded(409, 'checkout_session_not_capturable'));
      const id = await heldSession('credit');
      const captured = await capture(id, {});
      expect(record(captured.body, 'checkout_session')).toMatchObject({ status: 'complete' });
      expect(await capture(id, {})).toMatchObject(coded(400, 'checkout_session_already_processed'));
    });

    it('422 capture_amount_exceeds_authorized, capture_amount_invalid and multiple_captures_not_supported [D14.102]', async () => {
      const id = await heldSession('single_capture');
      expect(await capture(id, { amount: 10_000_000 })).toMatchObject(coded(422, 'capture_amount_exceeds_authorized'));
      expect(await capture(id, { amount: 0 })).toMatchObject(coded(422, 'capture_amount_invalid'));
      expect(await capture(id, { amount: 100 })).toMatchObject(coded(422, 'multiple_captures_not_supported'));
    });
  });

  sessionRefusalTests(() => ({ eligo, api, shop, customer, card, coded, listed, create, paidSession }));

  it('leaves books that agree after captures in parts, and shows the captures of a session [SESS-6, GEN-10, D6.6]', async () => {
    const id = await idOf(newSession(api, shop, { customer, capture_method: 'manual' }));
    const path = `/v1/checkout/sessions/${id}`;
    const cards = { payment_method: card, second_payment_method: 'credit' };
    await make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', cards);
    const key = { idempotencyKey: newId('request') };
    const first = await api.post(`${path}/capture`, { checkout_session: { amount: 1_000 } }, key);
    expect(record(first.body, 'checkout_session')).toMatchObject({ status: 'paid', amount_received: 1_000 });
    expect((await api.post(`${path}/capture`, { checkout_session: { amount: 1_000 } }, key)).text).toBe(first.text);
    const reused = await api.post(`${path}/capture`, { checkout_session: { amount: 1_001 } }, key);
    expect(reused).toMatchObject(coded(409, 'idempotency_key_reused'));
    const line_items = [{ price: shop.otherPriceId, amount_to_capture: 2_000 }];
    const preview = await api.post(`${path}/capture_allocation`, { checkout_session: { line_items } });
    expect(records(preview.body, 'allocations')).toMatchObject([{ last4: '4242', amount: 2_000 }]);
    const last = { line_items, final_capture: true, capture_metadata: { parcel: '2' } };
    await make(api, `${path}/capture?expand=captures`, 'checkout_session', last);
    const session = record((await api.get(`${path}?expand=captures`)).body, 'checkout_session');
    expect(session).toMatchObject({ status: 'complete', amount_received: 3_000 });
    expect(session.captures).toMatchObject([
      { amount_captured: 1_000, final_capture: false },
      { amount_captured: 2_000, final_capture: true, metadata: { parcel: '2' }, items: [{ price: shop.otherPriceId }] },
    ]);
    await booksAgree(eligo);
  });

  describe('refunds', () => {
    it('422 checkout_session_not_captured [SREF-2]', async () => {
      const id = await idOf(newSession(api, shop, { customer }));
      expect(await refund(id, { amount: 100 })).toMatchObject(coded(422, 'checkout_session_not_captured'));
    });

    it('422 refund_amount_exceeds_remaining, refund_amount_invalid; 403 payment_method_allocation_not_enabled', async () => {
      const { id } = await paidSession();
      expect(await refund(id, { amount: 10_000_000 })).toMatchObject(coded(422, 'refund_amount_exceeds_remaining'));
      expect(await refund(id, { amount: 0 })).toMatchObject(coded(422, 'refund_amount_invalid'));
      const payment_methods = [{ payment_method_id: card, amount: 100 }];
      const allocated = await refund(id, { amount: 100, payment_methods });
      expect(allocated).toMatchObject(coded(403, 'payment_method_allocation_not_enabled'));
    });

    it('422 payment_intent_not_succeeded [REF-4]', async () => {
      const declined = await newCard(api, customer, 'declined', { off_session: true });
      const id = await idOf(newSession(api, shop, { customer }));
      expect((await confirm(api, id, declined)).status).toBe(402);
      const [intent] = records((await api.get('/v1/payment_intents?limit=1')).body, 'payment_intents');
      const payment_intent_id = text(intent ?? {}, 'payment_intent_id');
      const answer = await api.post('/v1/refunds', { refund: { payment_intent_id } });
      expect(answer).toMatchObject(coded(422, 'payment_intent_not_succeeded'));
    });

    it('409 refund_not_pending', async () => {
      const { intent } = await paidSession();
      const payment_intent_id = text(intent, 'payment_intent_id');
      const made = await make(api, '/v1/refunds', 'refund', { payment_intent_id, amount: 100 });
      const settle = (verb: string) => api.post(`/v1/test_helpers/refunds/${text(made, 'refund_id')}/${verb}`);
      expect((await settle('fail')).status).toBe(200);
      expect(await settle('succeed')).toMatchObject(coded(409, 'refund_not_pending'));
    });

    it('422 file_not_found for a file that is not there; one that is there becomes evidence [D14.253, D14.254, FILE-2]', async () => {
      const { intent } = await paidSession();
      const made = await make(api, '/v1/test_helpers/disputes', 'dispute', { charge: text(intent, 'latest_charge') });
      const dispute = `/v1/disputes/${text(made, 'dispute_id')}`;
      const give = (evidence: Json, at = dispute) => api.post(at, { dispute: { evidence } });
      const upload = (size: number) => uploadFile(api, paddedPdf(size));
      const missing = newId('file');
      const other = listed('file_not_found', 'dispute', 'evidence', 'receipt');
      const ofAccount = await uploadFile(api, paddedPdf(1_000), { purpose: 'account_requirement' });
      for (const receipt of [missing, 'facct_1', ofAccount]) expect(await give({ receipt })).toMatchObject(other);
      const nowhere = `/v1/disputes/${newId('dispute')}`;
      expect(await give({ receipt: missing }, nowhere)).toMatchObject(coded(404, 'dispute_not_found'));
      const receipt = await upload(1_500_000);
      const evidence = { receipt, product_description: 'A thermometer' };
      expect((await give(evidence)).body).toMatchObject({
        dispute: { evidence, evidence_details: { has_evidence: true } },
      });
      const tooLarge = listed('evidence_files_too_large', 'dispute', 'evidence', 'refund_policy');
      expect(await give({ refund_policy: await upload(3_000_001) })).toMatchObject(tooLarge);
      const submitted = await api.post(dispute, { dispute: { evidence: { receipt: '' }, submit: true } });
      expect(submitted.body).toMatchObject({ dispute: { status: 'under_review' } });
      expect(record(submitted.body, 'dispute').evidence).toEqual({ product_description: 'A thermometer' });
      expect(await give({ receipt })).toMatchObject(coded(409, 'dispute_not_open'));
    });

    it('409 dispute_not_open; a session shows what its disputes hold, and refunds nothing of it [D14.124] [SESS-4]', async () => {
      const { id, intent } = await paidSession();
      const charge = text(intent, 'latest_charge');
      const made = await make(api, '/v1/test_helpers/disputes', 'dispute', { charge });
      const dispute = `/v1/disputes/${text(made, 'dispute_id')}`;
      const session = record((await api.get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session');
      expect(session).toMatchObject({ amount_disputed: made.amount, disputes: [made.dispute_id] });
      expect((await api.get(`/v1/charges/${charge}`)).body).toMatchObject({ charge: { disputed: true } });
      const [listed] = records(
        (await api.get('/v1/checkout/sessions?disputed=true&limit=1')).body,
        'checkout_sessions',
      );
      expect(listed).toMatchObject({ checkout_session_id: id });
      expect(await refund(id, { amount: 100 })).toMatchObject(coded(422, 'refund_amount_exceeds_remaining'));
      expect((await api.post(`${dispute}/close`)).body).toMatchObject({ dispute: { status: 'lost' } });
      const late = { dispute: { evidence: { product_description: 'A thermometer' } } };
      expect(await api.post(dispute, late)).toMatchObject(coded(409, 'dispute_not_open'));
    });
  });

  it('409 for what the status of a subscription or an invoice does not allow [SUB-10, SUB-11, SUB-12, INV-5, INV-6]', async () => {
    const recurring = { product: shop.eligibleProductId, unit_amount: 1_500, recurring: { interval: 'month' } };
    const items = [{ price: text(await make(api, '/v1/prices', 'price', recurring), 'price_id'), quantity: 1 }];
    const sell = (default_payment_method: string) =>
      make(api, '/v1/subscriptions', 'subscription', { customer, items, default_payment_method });
    const sold = await sell(card);
    const path = `/v1/subscriptions/${text(sold, 'subscription_id')}`;
    const invoice = `/v1/invoices/${text(sold, 'latest_invoice')}`;
    expect(await api.post(`${path}/resume`)).toMatchObject(coded(409, 'subscription_not_resumable'));
    expect(await api.post(`${invoice}/pay`)).toMatchObject(coded(409, 'invoice_already_paid'));
    expect(await api.post(`${invoice}/void`)).toMatchObject(coded(409, 'invoice_not_voidable'));
    expect(await api.post(`${path}/pause`)).toMatchObject({
      status: 200,
      body: { subscription: { status: 'paused' } },
    });
    expect(await api.post(`${path}/pause`)).toMatchObject(coded(409, 'subscription_not_pausable'));
    const resumed = await api.post(`${path}/resume`, { subscription: { billing_cycle_anchor: 'unchanged' } });
    expect(resumed).toMatchObject({ status: 200, body: { subscription: { status: 'active' } } });
    await api.ok('DELETE', path);
    const change = { subscription: { metadata: { late: 'yes' } } };
    expect(await api.patch(path, change)).toMatchObject(coded(409, 'subscription_not_updatable'));
    const declined = await newCard(api, customer, 'insufficient_funds', { off_session: true });
    const open = `/v1/invoices/${text(await sell(declined), 'latest_invoice')}`;
    expect(await api.post(`${open}/pay`)).toMatchObject({
      status: 402,
      body: { code: 'card_declined', decline_code: 'insufficient_funds' },
    });
    for (let tries = 2; tries < 60; tries += 1) await api.post(`${open}/pay`);
    expect(await api.post(`${open}/pay`)).toMatchObject(coded(409, 'invoice_payment_tries_exceeded'));
    expect(await api.post(`${open}/void`)).toMatchObject({ status: 200, body: { invoice: { status: 'void' } } });
    expect(await api.post(`${open}/pay`)).toMatchObject(coded(409, 'invoice_not_payable'));
  });

  it('422 webhook_url_not_allowed', async () => {
    const answer = await api.post('/v1/webhooks', { webhook: { url: 'http://169.254.169.254/', events: ['*'] } });
    expect(answer).toMatchObject(listed('webhook_url_not_allowed', 'webhook', 'url'));
  });
});

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
