import { describe, expect, test } from 'vitest';
import { testCards } from '../src/index.ts';
import { chargesOf, newIntent, newSandbox, sdk, sender } from './support.ts';

describe('cards', () => {
  test('every number passes Luhn and is a token of its own [CARD-1]', () => {
    for (const { number } of testCards) {
      const sum = [...number]
        .reverse()
        .map(Number)
        .reduce((total, digit, index) => {
          const doubled = index % 2 === 0 ? digit : digit * 2;
          return total + (doubled > 9 ? doubled - 9 : doubled);
        }, 0);
      expect(sum % 10).toBe(0);
    }
    expect(new Set(testCards.map((card) => card.token)).size).toBe(testCards.length);
  });

  test.each([
    ['4242424242424242', 'credit', 'Visa Credit'],
    ['4000056655665556', 'debit', 'Visa Debit'],
    ['5555555555554444', 'credit', 'Mastercard Credit'],
    ['4000051230000072', 'debit', 'Visa Healthcare HSA'],
    ['4000051230000080', 'prepaid', 'Visa Healthcare FSA'],
    ['4000060000000014', 'debit', null],
  ])('%s is charged; it says what kind of card it is [CARD-1]', async (number, funding, description) => {
    const stripe = sdk((await newSandbox()).url);
    const method = await stripe.paymentMethods.create({
      type: 'card',
      card: { number, exp_month: 6, exp_year: 2040, cvc: '123' },
    });
    expect(method.card).toMatchObject({ funding, description, iin: number.slice(0, 6), last4: number.slice(-4) });
    const intent = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: method.id,
      confirm: true,
    });
    expect(intent.status).toBe('succeeded');
  });

  test.each([
    ['pm_card_chargeDeclined', 'card_declined', 'generic_decline'],
    ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_chargeDeclinedExpiredCard', 'expired_card', 'expired_card'],
    ['pm_card_chargeDeclinedProcessingError', 'processing_error', 'processing_error'],
    ['pm_card_hsaInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_authenticationRequired', 'authentication_required', 'authentication_required'],
  ])('%s off session: 402 %s, %s; the intent waits for another card', async (method, code, declineCode) => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe, { payment_method: method });
    const { status, json } = await stripe.post(`/v1/payment_intents/${id}/confirm`, { off_session: 'true' });
    expect(status).toBe(402);
    expect(json.error).toMatchObject({ type: 'card_error', code, decline_code: declineCode });
    expect(json.error.payment_intent).toMatchObject({ id, status: 'requires_payment_method', payment_method: null });
    expect(json.error.payment_intent.last_payment_error.code).toBe(code);
    expect(await chargesOf(stripe)).toMatchObject([
      { status: 'failed', amount_captured: 0, decline_code: declineCode },
    ]);
    const other = await stripe.post(`/v1/payment_intents/${id}/confirm`, { payment_method: 'pm_card_visa' });
    expect(other.json.status).toBe('succeeded');
  });

  test('a card that needs authentication waits for it on session; passed, it is charged, failed, it is declined', async () => {
    const stripe = sender((await newSandbox()).url);
    for (const [outcome, status] of [
      ['success', 'succeeded'],
      ['failure', 'requires_payment_method'],
    ]) {
      const id = await newIntent(stripe, { payment_method: 'pm_card_authenticationRequired' });
      const waiting = await stripe.post(`/v1/payment_intents/${id}/confirm`, {
        return_url: 'https://shop.example/done',
      });
      expect(waiting.json).toMatchObject({ status: 'requires_action', next_action: { type: 'redirect_to_url' } });
      expect((await stripe.witness('POST', `/sandbox/authentications/${id}`, { outcome })).json.status).toBe(status);
    }
  });

  test('a number that is not a test card is declined, an old date too, and no number is stored', async () => {
    const { url } = await newSandbox();
    const stripe = sender(url);
    const create = (number: string, year: string) =>
      stripe.post('/v1/payment_methods', {
        type: 'card',
        'card[number]': number,
        'card[exp_month]': '6',
        'card[exp_year]': year,
      });
    expect((await create('4111111111111111', '2040')).json.error).toMatchObject({
      decline_code: 'test_mode_live_card',
    });
    expect((await create('4242424242424242', '2020')).json.error).toMatchObject({ code: 'invalid_expiry_year' });
    const made = await create('4242 4242 4242 4242', '2040');
    expect(made.status).toBe(200);
    expect(made.text).not.toContain('4242424242424242');
  });

  test.each(['4242424242424241', '4000000000000003', '42424242', 'abc'])(
    'the number %s is no card number: 402 incorrect_number, as it is at Stripe',
    async (number) => {
      const stripe = sender((await newSandbox()).url);
      const answer = await stripe.post('/v1/payment_methods', {
        ...{ type: 'card', 'card[number]': number, 'card[exp_month]': '6', 'card[exp_year]': '2040' },
      });
      expect([answer.status, answer.json.error]).toMatchObject([
        402,
        { type: 'card_error', code: 'incorrect_number', param: 'number' },
      ]);
    },
  );

  test.each([
    ['chargeDeclined', 402, 'card_declined', 'generic_decline'],
    ['chargeDeclinedExpiredCard', 402, 'expired_card', 'expired_card'],
    ['chargeDeclinedInsufficientFunds', 402, 'card_declined', 'insufficient_funds'],
    ['chargeCustomerFail', 200, undefined, undefined],
    ['hsa', 200, undefined, undefined],
  ])('attaching %s asks its issuer: %i %s', async (name, status, code, declineCode) => {
    const stripe = sender((await newSandbox()).url);
    const { json: customer } = await stripe.post('/v1/customers', {});
    const { json: method } = await stripe.post('/v1/payment_methods', { type: 'card', 'card[token]': `tok_${name}` });
    const attached = await stripe.post(`/v1/payment_methods/${method.id}/attach`, { customer: customer.id });
    expect([attached.status, attached.json.error?.code, attached.json.error?.decline_code]).toEqual([
      ...[status, code, declineCode],
    ]);
    const known = await stripe.get(`/v1/payment_methods/${method.id}`);
    expect(known.json).toMatchObject({ customer: status === 200 ? customer.id : null });
    const made = await stripe.post('/v1/customers', { payment_method: method.id, email: 'made@shop.example' });
    expect(made.status).toBe(status);
    const listed = (await stripe.get('/v1/customers?email=made@shop.example')).json.data;
    expect(listed).toHaveLength(status === 200 ? 1 : 0);
  });

  test('a declining card that a test helper made is attached, and declines a charge', async () => {
    const stripe = sender((await newSandbox()).url);
    const { json: customer } = await stripe.post('/v1/customers', {});
    const marked = { 'metadata[sandbox_attach_unchecked]': 'true' };
    const form = { type: 'card', 'card[token]': 'tok_chargeDeclined', ...marked };
    const { json: method } = await stripe.post('/v1/payment_methods', form);
    expect((await stripe.post(`/v1/payment_methods/${method.id}/attach`, { customer: customer.id })).status).toBe(200);
    const id = await newIntent(stripe, { payment_method: method.id, customer: customer.id });
    expect((await stripe.post(`/v1/payment_intents/${id}/confirm`, {})).status).toBe(402);
  });

  test('a payment method belongs to its customer, and not to anybody once it is detached', async () => {
    const stripe = sender((await newSandbox()).url);
    const { json: owner } = await stripe.post('/v1/customers', {});
    const { json: other } = await stripe.post('/v1/customers', {});
    const { json: method } = await stripe.post('/v1/payment_methods', { type: 'card', 'card[token]': 'tok_visa' });
    await stripe.post(`/v1/payment_methods/${method.id}/attach`, { customer: owner.id });
    const use = (form: Record<string, string>) =>
      stripe.post('/v1/payment_intents', { amount: '1000', currency: 'usd', payment_method: method.id, ...form });
    expect((await use({})).status).toBe(400);
    expect((await use({ customer: other.id })).status).toBe(400);
    expect((await use({ customer: owner.id })).status).toBe(200);
    expect((await stripe.post(`/v1/payment_methods/${method.id}/attach`, { customer: other.id })).status).toBe(400);
    await stripe.post(`/v1/payment_methods/${method.id}/detach`, {});
    expect((await use({ customer: owner.id })).status).toBe(400);
    expect((await stripe.get(`/v1/customers/${owner.id}/payment_methods`)).json.data).toEqual([]);
  });
});
