import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chargesOf, newIntent, newSandbox, type Sender, sender } from './support.ts';

const manual = { capture_method: 'manual', 'payment_method_options[card][request_multicapture]': 'if_available' };

async function held(stripe: Sender, fields: Record<string, string> = manual): Promise<string> {
  const id = await newIntent(stripe, fields);
  await stripe.post(`/v1/payment_intents/${id}/confirm`, {});
  return id;
}

async function charged(stripe: Sender, fields: Record<string, string> = {}): Promise<string> {
  const id = await newIntent(stripe, fields);
  await stripe.post(`/v1/payment_intents/${id}/confirm`, {});
  return id;
}

/** What the account's balance says, movement by movement. */
async function balance(stripe: Sender): Promise<number> {
  const { json } = await stripe.get('/v1/balance_transactions?limit=100');
  return json.data.reduce((sum: number, transaction: { amount: number }) => sum + transaction.amount, 0);
}

describe('captures', () => {
  test('several captures take no more than was held, and the last releases the remainder', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await held(stripe);
    const capture = (form: Record<string, string>) => stripe.post(`/v1/payment_intents/${id}/capture`, form);
    expect((await capture({ amount_to_capture: '300', final_capture: 'false' })).json).toMatchObject({
      status: 'requires_capture',
      amount_capturable: 700,
      amount_received: 300,
    });
    const tooMuch = await capture({ amount_to_capture: '701', final_capture: 'false' });
    expect([tooMuch.status, tooMuch.json.error.param]).toEqual([400, 'amount_to_capture']);
    expect((await capture({ amount_to_capture: '200' })).json).toMatchObject({
      status: 'succeeded',
      amount_capturable: 0,
      amount_received: 500,
    });
    const again = await capture({ amount_to_capture: '1' });
    expect([again.status, again.json.error.code]).toEqual([400, 'payment_intent_unexpected_state']);
    expect(await chargesOf(stripe)).toMatchObject([{ amount: 1000, amount_captured: 500, released: true }]);
    expect(await balance(stripe)).toBe(500);
  });

  test('a capture without an amount takes all that is left', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await held(stripe, { capture_method: 'manual' });
    expect((await stripe.post(`/v1/payment_intents/${id}/capture`, {})).json.amount_received).toBe(1000);
  });

  test('several captures must have been asked for when the intent was made', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await held(stripe, { capture_method: 'manual' });
    const answer = await stripe.post(`/v1/payment_intents/${id}/capture`, {
      amount_to_capture: '1',
      final_capture: 'false',
    });
    expect([answer.status, answer.json.error.param]).toEqual([400, 'final_capture']);
  });

  test('canceling releases a hold; after a partial capture the payment stands for what was captured', async () => {
    const stripe = sender((await newSandbox()).url);
    const first = await held(stripe);
    expect((await stripe.post(`/v1/payment_intents/${first}/cancel`, {})).json.status).toBe('canceled');
    const second = await held(stripe);
    await stripe.post(`/v1/payment_intents/${second}/capture`, { amount_to_capture: '400', final_capture: 'false' });
    expect((await stripe.post(`/v1/payment_intents/${second}/cancel`, {})).json).toMatchObject({
      status: 'succeeded',
      amount_received: 400,
      amount_capturable: 0,
    });
    const third = await charged(stripe);
    const refused = await stripe.post(`/v1/payment_intents/${third}/cancel`, {});
    expect([refused.status, refused.json.error.code]).toEqual([400, 'payment_intent_unexpected_state']);
  });
});

describe('refunds', () => {
  test('partial refunds add up to what was captured and no further', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe);
    const refund = (form: Record<string, string>) => stripe.post('/v1/refunds', { payment_intent: id, ...form });
    expect((await refund({ amount: '400' })).json).toMatchObject({ status: 'succeeded', amount: 400 });
    const tooMuch = await refund({ amount: '601' });
    expect([tooMuch.status, tooMuch.json.error.param]).toEqual([400, 'amount']);
    expect((await refund({})).json.amount).toBe(600);
    const again = await refund({ amount: '1' });
    expect([again.status, again.json.error.code]).toEqual([400, 'charge_already_refunded']);
    expect(await chargesOf(stripe)).toMatchObject([{ amount_captured: 1000, amount_refunded: 1000 }]);
    expect(await balance(stripe)).toBe(0);
  });

  test('100 refunds at once of one charge never exceed it', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        stripe.post('/v1/refunds', { payment_intent: id, amount: '30' }, `r${index}`),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(33);
    expect(await chargesOf(stripe)).toMatchObject([{ amount_refunded: 990 }]);
  });

  test('what is only held cannot be refunded', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await held(stripe);
    expect((await stripe.post('/v1/refunds', { payment_intent: id })).status).toBe(400);
  });

  test('a failed refund restores its amount to the charge and the balance', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe);
    const { json: refund } = await stripe.post('/v1/refunds', { payment_intent: id, amount: '400' });
    const failed = await stripe.witness('POST', `/sandbox/refunds/${refund.id}/fail`);
    expect(failed.json).toMatchObject({
      status: 'failed',
      failure_balance_transaction: expect.stringMatching(/^txn_/),
    });
    expect(await chargesOf(stripe)).toMatchObject([{ amount_refunded: 0 }]);
    expect(await balance(stripe)).toBe(1000);
    expect((await stripe.witness('POST', `/sandbox/refunds/${refund.id}/fail`)).status).toBe(400);
  });

  test('a pending refund counts at once, and can be made to succeed', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe, { payment_method: 'pm_card_pendingRefund' });
    const { json: refund } = await stripe.post('/v1/refunds', { payment_intent: id, amount: '400' });
    expect(refund.status).toBe('pending');
    expect(await chargesOf(stripe)).toMatchObject([{ amount_refunded: 400 }]);
    expect((await stripe.witness('POST', `/sandbox/refunds/${refund.id}/succeed`)).json.status).toBe('succeeded');
  });

  test('any order of captures, refunds, failures and cancels keeps refunded <= captured <= held, and the balance in step', async () => {
    const stripe = sender((await newSandbox()).url);
    const step = fc.record({
      verb: fc.constantFrom('capture', 'refund', 'fail', 'cancel'),
      amount: fc.integer({ min: 0, max: 700 }),
    });
    let before = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const id = await held(stripe);
        const refunds: string[] = [];
        for (const { verb, amount } of steps) {
          const text = String(amount);
          if (verb === 'capture')
            await stripe.post(`/v1/payment_intents/${id}/capture`, { amount_to_capture: text, final_capture: 'false' });
          if (verb === 'cancel') await stripe.post(`/v1/payment_intents/${id}/cancel`, {});
          if (verb === 'fail' && refunds.length > 0)
            await stripe.witness('POST', `/sandbox/refunds/${refunds.pop()}/fail`);
          if (verb === 'refund') {
            const { status, json } = await stripe.post('/v1/refunds', { payment_intent: id, amount: text });
            if (status === 200) refunds.push(json.id);
          }
        }
        const charge = (await chargesOf(stripe)).find((one) => one.payment_intent === id);
        const { amount, amount_captured, amount_refunded } = charge as Record<string, number>;
        expect(amount_refunded).toBeLessThanOrEqual(amount_captured ?? 0);
        expect(amount_captured).toBeLessThanOrEqual(amount ?? 0);
        const net = (await chargesOf(stripe)).reduce(
          (sum, one) => sum + Number(one.amount_captured) - Number(one.amount_refunded),
          0,
        );
        before += (amount_captured ?? 0) - (amount_refunded ?? 0);
        expect(net).toBe(before);
      }),
      { numRuns: 40 },
    );
  });
});

describe('disputes', () => {
  test('the card 4000000000000259 is charged and then disputed, and the money is withdrawn', async () => {
    const stripe = sender((await newSandbox()).url);
    await charged(stripe, { payment_method: 'pm_card_createDispute' });
    const { json } = await stripe.get('/v1/disputes');
    expect(json.data).toMatchObject([
      { amount: 1000, status: 'needs_response', evidence_details: { submission_count: 0 } },
    ]);
    expect(await chargesOf(stripe)).toMatchObject([{ disputed: true }]);
    expect(await balance(stripe)).toBe(0);
  });

  test('a charge can be disputed on request, once, and not refunded any more; a won dispute brings the money back', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe);
    const [charge] = await chargesOf(stripe);
    const open = () =>
      stripe.witness('POST', '/sandbox/disputes', {
        dispute: { charge: charge?.id, amount: 600, reason: 'general' },
      });
    const { json: dispute } = await open();
    expect(dispute).toMatchObject({ amount: 600, reason: 'general' });
    expect((await open()).status).toBe(400);
    expect((await stripe.post('/v1/refunds', { payment_intent: id })).json.error.code).toBe('charge_disputed');
    const won = await stripe.post(`/v1/disputes/${dispute.id}`, {
      'evidence[uncategorized_text]': 'winning_evidence',
      submit: 'true',
    });
    expect(won.json).toMatchObject({ status: 'won', balance_transactions: [{ amount: -600 }, { amount: 600 }] });
    expect(await balance(stripe)).toBe(1000);
    expect((await stripe.post(`/v1/disputes/${dispute.id}/close`, {})).status).toBe(400);
  });

  test('an inquiry takes no money and lets the charge be refunded; a dispute of a part lets the other part be', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await charged(stripe, { payment_method: 'pm_card_createInquiry' });
    const [inquiry] = (await stripe.get('/v1/disputes')).json.data;
    expect(inquiry).toMatchObject({ status: 'warning_needs_response', balance_transactions: [] });
    expect((await stripe.post('/v1/refunds', { payment_intent: id, amount: '100' })).status).toBe(200);
    const closed = await stripe.post(`/v1/disputes/${inquiry?.id}`, {
      'evidence[uncategorized_text]': 'winning_evidence',
      submit: 'true',
    });
    expect(closed.json).toMatchObject({ status: 'warning_closed' });
    const other = await charged(stripe);
    const charge = (await chargesOf(stripe)).find(({ payment_intent }) => payment_intent === other);
    await stripe.witness('POST', '/sandbox/disputes', { dispute: { charge: charge?.id, amount: 600 } });
    const refund = (amount: string) => stripe.post('/v1/refunds', { payment_intent: other, amount });
    expect((await refund('401')).json.error.code).toBe('charge_disputed');
    expect((await refund('400')).status).toBe(200);
  });

  test('a dispute moves as the bank says, with its money, and takes evidence only while it needs a response', async () => {
    const stripe = sender((await newSandbox()).url);
    await charged(stripe, { payment_method: 'pm_card_createDispute' });
    const [dispute] = (await stripe.get('/v1/disputes')).json.data;
    const move = (status: string) => stripe.witness('POST', `/sandbox/disputes/${dispute?.id}/move`, { status });
    await move('under_review');
    const late = await stripe.post(`/v1/disputes/${dispute?.id}`, { 'evidence[product_description]': 'x' });
    expect(late.json.error).toMatchObject({ param: 'evidence' });
    await move('won');
    expect(await balance(stripe)).toBe(1000);
    await move('appeal_lost');
    expect(await balance(stripe)).toBe(0);
    expect((await move('No status')).status).toBe(400);
  });

  test('a dispute takes 20,000 characters in a field of evidence, and 150,000 in all together', async () => {
    const stripe = sender((await newSandbox()).url);
    await charged(stripe, { payment_method: 'pm_card_createDispute' });
    const [dispute] = (await stripe.get('/v1/disputes')).json.data;
    const give = (fields: readonly string[], length: number) =>
      stripe.post(
        `/v1/disputes/${dispute?.id}`,
        Object.fromEntries(fields.map((field) => [`evidence[${field}]`, 'x'.repeat(length)])),
      );
    const texts = ['access_activity_log', 'billing_address', 'cancellation_rebuttal', 'customer_name', 'service_date'];
    const more = ['product_description', 'shipping_carrier', 'uncategorized_text'];
    expect((await give([...texts, ...more], 18_750)).status).toBe(200);
    const tooMany = await give([...texts, ...more], 18_751);
    expect(tooMany).toMatchObject({ status: 400, json: { error: { param: 'evidence' } } });
    expect((await give(['product_description'], 20_000)).status).toBe(200);
    const tooLong = await give(['product_description'], 20_001);
    expect(tooLong).toMatchObject({ status: 400, json: { error: { param: 'evidence[product_description]' } } });
  });
});
