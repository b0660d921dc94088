import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { arm, chargesOf, newIntent, newSandbox, type Sender, sender } from './support.ts';

async function charged(stripe: Sender): Promise<number> {
  return (await chargesOf(stripe)).length;
}

/** Long enough to see, also on a busy machine, that nothing was done when the connection broke. */
const lateMs = 2_000;

describe('faults', () => {
  test('drop_before: the connection breaks, nothing was done or stored [RUN-7]', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).rejects.toThrow();
    expect(await charged(stripe)).toBe(0);
    const again = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([again.status, again.replayed]).toEqual([200, false]);
  });

  test('drop_after: the connection breaks, it was done, and its answer is there to be replayed [RUN-7]', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).rejects.toThrow();
    expect(await charged(stripe)).toBe(1);
    const again = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([again.status, again.replayed, again.json.status]).toEqual([200, true, 'succeeded']);
  });

  test('late: the connection breaks at once, and the orphan is carried out after its delay [RUN-7]', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'late', delay_ms: lateMs, times: 1 });
    await expect(stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).rejects.toThrow();
    expect(await charged(stripe)).toBe(0);
    await expect.poll(() => charged(stripe), { timeout: lateMs + 10_000 }).toBe(1);
    // The charge shows before it is on disk; until then its key is in use.
    const again = () => stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    await expect.poll(async () => (await again()).replayed, { timeout: 10_000 }).toBe(true);
  });

  test('late: an orphan that comes after a retry with its key does nothing', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'refunds.create', kind: 'late', delay_ms: 200, times: 1 });
    await stripe.post(`/v1/payment_intents/${id}/confirm`, {});
    const refund = () => stripe.post('/v1/refunds', { payment_intent: id, amount: '300' }, 'r1');
    await expect(refund()).rejects.toThrow();
    expect((await refund()).json.amount).toBe(300);
    await sleep(400);
    expect((await stripe.get(`/v1/refunds?payment_intent=${id}`)).json.data).toHaveLength(1);
  });

  test('in_progress: a 409 as if the key were in use, and nothing is done [RUN-7]', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'in_progress', times: 1 });
    const answer = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([answer.status, answer.json.error.code]).toEqual([409, 'idempotency_key_in_use']);
    expect(await charged(stripe)).toBe(0);
  });

  test('rate_limited: a 429 before the key is looked at, and nothing is done or stored', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'rate_limited', delay_ms: 2_500, times: 1 });
    const answer = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([answer.status, answer.json.error.code]).toEqual([429, 'rate_limit']);
    expect(answer.headers.get('retry-after')).toBe('3');
    expect(await charged(stripe)).toBe(0);
    const again = await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    expect([again.status, again.replayed]).toEqual([200, false]);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'rate_limited', times: 1 });
    expect((await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).status).toBe(429);
    expect((await stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1')).replayed).toBe(true);
  });

  test('slow: done at once, answered after the delay', async () => {
    const stripe = sender((await newSandbox()).url);
    const id = await newIntent(stripe);
    await arm(stripe, { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 500, times: 1 });
    const startedMs = performance.now();
    const running = stripe.post(`/v1/payment_intents/${id}/confirm`, {}, 'k1');
    await expect.poll(() => charged(stripe), { interval: 10 }).toBe(1);
    expect((await running).status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThan(490);
  });

  test('times counts down, and a fault hits its own call only', async () => {
    const stripe = sender((await newSandbox()).url);
    await arm(stripe, { call: 'customers.create', kind: 'error_before', times: 2 });
    expect((await stripe.post('/v1/payment_methods', { type: 'card', 'card[token]': 'tok_visa' })).status).toBe(200);
    const statuses = [];
    for (let call = 0; call < 3; call++) statuses.push((await stripe.post('/v1/customers', {})).status);
    expect(statuses).toEqual([500, 500, 200]);
    expect((await stripe.witness('GET', '/sandbox/faults')).json.data).toEqual([]);
  });

  test('rate hits a share of all calls until the faults are deleted', async () => {
    const stripe = sender((await newSandbox()).url);
    await arm(stripe, { call: '*', kind: 'error_before', rate: 0.5 });
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => (await stripe.post('/v1/customers', {})).status),
    );
    const failed = statuses.filter((status) => status === 500).length;
    expect(failed).toBeGreaterThan(50);
    expect(failed).toBeLessThan(150);
    await stripe.witness('DELETE', '/sandbox/faults');
    expect((await stripe.post('/v1/customers', {})).status).toBe(200);
  });

  test.each([
    [{ kind: 'explode' }, 'fault[kind]'],
    [{ kind: 'slow', call: 'everything' }, 'fault[call]'],
    [{ kind: 'slow', delay_ms: -1 }, 'fault[delay_ms]'],
    [{ kind: 'slow', times: 1, rate: 0.5 }, 'fault[rate]'],
    [{ kind: 'slow', rate: 2 }, 'fault[rate]'],
  ])('%j is refused', async (fault, param) => {
    const stripe = sender((await newSandbox()).url);
    const answer = await stripe.witness('POST', '/sandbox/faults', { fault });
    expect([answer.status, answer.json.error.param]).toEqual([400, param]);
  });
});
