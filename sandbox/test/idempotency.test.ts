import { describe, expect, test } from 'vitest';
import { arm, chargesOf, newHome, newIntent, newSandbox, sender } from './support.ts';

const day = 24 * 60 * 60 * 1000;
const creation = { amount: '1000', currency: 'usd', 'metadata[attempt]': 'a1' };

describe('idempotency keys', () => {
  test('the first answer is replayed byte for byte, marked as such, and nothing is done again', async () => {
    const stripe = sender((await newSandbox()).url);
    const first = await stripe.post('/v1/payment_intents', creation, 'k1');
    const second = await stripe.post('/v1/payment_intents', creation, 'k1');
    expect([first.status, first.replayed, second.status, second.replayed]).toEqual([200, false, 200, true]);
    expect(second.text).toBe(first.text);
    expect((await stripe.get('/v1/payment_intents')).json.data).toHaveLength(1);
  });

  test('the same parameters in another order are the same request', async () => {
    const stripe = sender((await newSandbox()).url);
    const first = await stripe.post('/v1/payment_intents', creation, 'k1');
    const turned = Object.fromEntries(Object.entries(creation).reverse());
    expect((await stripe.post('/v1/payment_intents', turned, 'k1')).text).toBe(first.text);
  });

  test('other parameters under a key are a 400 idempotency_error, and do nothing', async () => {
    const stripe = sender((await newSandbox()).url);
    await stripe.post('/v1/payment_intents', creation, 'k1');
    const other = await stripe.post('/v1/payment_intents', { ...creation, amount: '1001' }, 'k1');
    expect([other.status, other.json.error.type]).toEqual([400, 'idempotency_error']);
    expect((await stripe.get('/v1/payment_intents')).json.data).toHaveLength(1);
  });

  test('another endpoint under a key is a 400 idempotency_error', async () => {
    const stripe = sender((await newSandbox()).url);
    await stripe.post('/v1/payment_intents', creation, 'k1');
    const other = await stripe.post('/v1/customers', {}, 'k1');
    expect([other.status, other.json.error.type]).toEqual([400, 'idempotency_error']);
  });

  test('a key belongs to its account', async () => {
    const { url } = await newSandbox();
    const first = await sender(url, 'acct_test0001').post('/v1/payment_intents', creation, 'k1');
    const second = await sender(url, 'acct_test0002').post('/v1/payment_intents', creation, 'k1');
    expect(second.replayed).toBe(false);
    expect(second.json.id).not.toBe(first.json.id);
  });

  test('a decline is stored and replayed: it was executed', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe, { payment_method: 'pm_card_chargeDeclined' });
    const first = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    const second = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([first.status, second.status, second.replayed]).toEqual([402, 402, true]);
    expect(second.text).toBe(first.text);
    expect(await chargesOf(stripe)).toHaveLength(1);
  });

  test('a refused state is stored; a refused parameter is not', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await stripe.post(`/v1/payment_intents/${id}/cancel`, {});
    await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'state');
    expect((await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'state')).replayed).toBe(true);

    const refused = await stripe.post('/v1/payment_intents', { ...creation, amount: 'ten' }, 'k1');
    expect([refused.status, refused.json.error.code]).toEqual([400, 'parameter_invalid_integer']);
    const corrected = await stripe.post('/v1/payment_intents', creation, 'k1');
    expect([corrected.status, corrected.replayed]).toEqual([200, false]);
  });

  test('a stored 500 is replayed until its key lapses after 24 hours, and then the request runs', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'error_before', times: 1 });
    const confirm = () => stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    const first = await confirm();
    const second = await confirm();
    expect([first.status, first.replayed, second.status, second.replayed]).toEqual([500, false, 500, true]);
    expect(second.text).toBe(first.text);

    await stripe.witness('POST', '/sandbox/clock', { advance_ms: day - 60_000 });
    expect((await confirm()).replayed).toBe(true);
    await stripe.witness('POST', '/sandbox/clock', { advance_ms: 60_000 });
    const late = await confirm();
    expect([late.status, late.replayed, late.json.status]).toEqual([200, false, 'succeeded']);
    expect(await chargesOf(stripe)).toHaveLength(1);
  });

  test('a new key after a stored 500 carries the confirmation out once', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'error_after', times: 1 });
    expect((await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).status).toBe(500);
    expect((await stripe.get(`/v1/payment_intents/${id}`)).json.status).toBe('succeeded');
    const again = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k2');
    expect([again.status, again.json.error.code]).toEqual([400, 'payment_intent_unexpected_state']);
    expect(again.json.error.payment_intent.status).toBe('succeeded');
    expect(await chargesOf(stripe)).toHaveLength(1);
  });

  test('a second request under a key while the first runs is a 409 idempotency_key_in_use', async () => {
    const home = newHome();
    const sandbox = await newSandbox(home);
    const stripe = sender(sandbox.url);
    const path = `/v1/payment_intents/${await newIntent(stripe)}/confirm`;
    // The first runs until the sandbox stops, however late the second comes.
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 120_000, times: 1 });
    const running = stripe.post(path, {}, 'k1');
    // The first is there once it has used the fault up.
    await expect.poll(async () => (await stripe.witness('GET', '/sandbox/faults')).json.data).toEqual([]);
    const second = await stripe.post(path, {}, 'k1');
    expect(second.status).toBe(409);
    expect(second.json.error).toMatchObject({ type: 'idempotency_error', code: 'idempotency_key_in_use' });
    await sandbox.stop();
    const { text } = await running;
    const restarted = sender((await newSandbox(home)).url);
    expect(await restarted.post(path, {}, 'k1')).toMatchObject({ status: 200, replayed: true, text });
    expect(await chargesOf(restarted)).toHaveLength(1);
  });

  test('of 32 requests at once under one key one runs, and every answer that is not a 409 is the same', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')),
    );
    const texts = new Set(answers.filter((answer) => answer.status !== 409).map((answer) => answer.text));
    expect(texts.size).toBe(1);
    expect(await chargesOf(stripe)).toHaveLength(1);
  });

  test('of 32 confirmations at once under 32 keys one charges', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) => stripe.post(`/v1/payment_intents/${id}/confirm`, {}, `k${index}`)),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(await chargesOf(stripe)).toHaveLength(1);
  });
});
