import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { record, text } from '../src/records.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

describe('a customer on a test clock', () => {
  let eligo: Constellation;
  let api: Api;
  let shop: Shop;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    shop = await openShop(api);
  }, 120_000);
  afterAll(() => eligo?.stop(), 60_000);

  const clockAt = async (time: string) =>
    text(
      await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: time, name: 'a test' }),
      'test_clock_id',
    );
  const advance = (clock: string, time: string) =>
    api.post(`/v1/test_helpers/test_clocks/${clock}/advance`, { test_clock: { frozen_time: time } });

  it('has sessions that expire by that clock [RUN-5]', async () => {
    const clock = await clockAt('2027-01-01T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const card = await newCard(api, customer, 'hsa');
    const session = await newSession(api, shop, { customer });
    expect(session.created_at).toBe(Date.parse('2027-01-01T00:00:00Z') / 1000);
    expect((await advance(clock, '2027-01-02T00:00:01Z')).status).toBe(200);
    expect(await confirm(api, text(session, 'checkout_session_id'), card)).toMatchObject({
      status: 400,
      body: { code: 'checkout_session_expired' },
    });
  });

  it('has subscriptions that end with their period by that clock', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const card = await newCard(api, customer, 'hsa');
    const monthly = await make(api, '/v1/prices', 'price', {
      product: shop.eligibleProductId,
      unit_amount: 1_900,
      recurring: { interval: 'month', interval_count: 1 },
    });
    const session = await newSession(api, shop, {
      mode: 'subscription',
      customer,
      line_items: [{ price: text(monthly, 'price_id'), quantity: 1 }],
    });
    const path = `/v1/test_helpers/checkout/sessions/${text(session, 'checkout_session_id')}/complete`;
    const done = record(
      await api.ok('POST', path, {
        body: { checkout_session: { payment_method: card, second_payment_method: 'credit' } },
      }),
      'checkout_session',
    );
    const id = text(done, 'subscription');
    await api.ok('DELETE', `/v1/subscriptions/${id}`, { body: { subscription: { cancel_at_period_end: true } } });
    await advance(clock, '2027-02-27T23:59:59Z');
    const read = async () => record((await api.get(`/v1/subscriptions/${id}`)).body, 'subscription');
    expect(await read()).toMatchObject({ status: 'active', cancel_at_period_end: true });
    await advance(clock, '2027-02-28T00:00:00Z');
    expect(await read()).toMatchObject({ status: 'canceled', canceled_at: '2027-02-28T00:00:00.000Z' });
  });

  it('goes forward only [RUN-5]', async () => {
    const clock = await clockAt('2027-01-01T00:00:00Z');
    expect(await advance(clock, '2026-12-31T23:59:59Z')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'test_clock', 'frozen_time'], type: 'test_clock_cannot_go_back' }] },
    });
  });
});
