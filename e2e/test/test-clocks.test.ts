import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
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
  afterAll(() => stopWithBooks(eligo), 60_000);

  const clockAt = async (time: string) =>
    text(
      await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: time, name: 'a test' }),
      'test_clock_id',
    );
  const advance = (clock: string, time: string) => advanceClock(api, clock, time);

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

  it('has subscriptions that renew by that clock: each period once, the eligible part on the health card, dunned when a card is declined [INV-2, INV-4, D14.90, D14.91, D14.93]', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const [card, other] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const monthly = async (product: string, unitAmount: number) =>
      text(
        await make(api, '/v1/prices', 'price', {
          product,
          unit_amount: unitAmount,
          recurring: { interval: 'month', interval_count: 1 },
        }),
        'price_id',
      );
    const towels = await make(api, '/v1/products', 'product', { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' });
    const session = await newSession(api, shop, {
      mode: 'subscription',
      customer,
      line_items: [
        { price: await monthly(shop.eligibleProductId, 1_900), quantity: 1 },
        { price: await monthly(text(towels, 'product_id'), 700), quantity: 2 },
      ],
    });
    const path = `/v1/test_helpers/checkout/sessions/${text(session, 'checkout_session_id')}/complete`;
    const body = { checkout_session: { payment_method: card, second_payment_method: other } };
    const id = text(record(await api.ok('POST', path, { body }), 'checkout_session'), 'subscription');
    expect(await advance(clock, '2027-05-01T00:00:00Z')).toMatchObject({
      status: 200,
      body: { test_clock: { status: 'ready' } },
    });
    const invoices = async () =>
      records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices').reverse();
    // 33.00, and the shipping and tax of the session.
    const renewed = (await invoices()).slice(1);
    expect(renewed).toMatchObject(
      ['2027-02-28', '2027-03-31', '2027-04-30'].map((day) => ({
        ...{ status: 'paid', total: 4_924, amount_due: 0, amount_paid: 4_924, backup_charge_status: 'succeeded' },
        ...{ subscription: id, period_start: `${day}T00:00:00.000Z`, paid_at: `${day}T00:00:00.000Z` },
      })),
    );
    // The consumer's list gives a batch by identifiers, without what it leaves out.
    const [february, , april] = renewed.map((one) => text(one, 'invoice_id'));
    const asked = `/v1/consumer/subscriptions/${id}/invoices?invoice_ids[]=${february}&invoice_ids[]=${april}`;
    const batch = records((await api.get(asked)).body, 'invoices');
    expect(batch.map(({ invoice_id }) => invoice_id)).toEqual([april, february]);
    const left = ['payment_intent', 'customer', 'subscription', 'paid_at'];
    expect(batch.flatMap((one) => left.filter((field) => field in one))).toEqual([]);
    const taken = async () => {
      const charges = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
      const ids = new Set(renewed.map(({ invoice_id }) => invoice_id));
      return charges.filter(({ metadata }) => ids.has((metadata as Json).invoice)).map(({ amount }) => Number(amount));
    };
    expect((await taken()).sort((one, two) => one - two)).toEqual([2_089, 2_089, 2_089, 2_835, 2_835, 2_835]);
    // The card is gone: nothing else pays its part.
    await api.ok('POST', `/v1/payment_methods/${card}/detach`, {});
    await advance(clock, '2027-06-01T00:00:00Z');
    const read = async () => record((await api.get(`/v1/subscriptions/${id}`)).body, 'subscription');
    expect(await read()).toMatchObject({ status: 'past_due' });
    await advance(clock, '2027-06-07T00:00:00Z');
    expect(await read()).toMatchObject({ status: 'canceled', canceled_at: '2027-06-07T00:00:00.000Z' });
    expect((await invoices()).at(-1)).toMatchObject({ status: 'uncollectible', amount_paid: 0 });
  });

  it('has a trial of a mixed cart that keeps two cards: the first renewal takes the eligible part from the health card and the remainder from the other, and none takes a part alone [D14.90, D14.180]', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const [card, other] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const towels = await make(api, '/v1/products', 'product', { name: 'Towels', hsa_fsa_eligibility: 'not_eligible' });
    const lines = await Promise.all(
      [
        { product: shop.eligibleProductId, unit_amount: 1_900 },
        { product: text(towels, 'product_id'), unit_amount: 700 },
      ].map((price) => make(api, '/v1/prices', 'price', { ...price, recurring: { interval: 'month' } })),
    );
    const session = await newSession(api, shop, {
      ...{ mode: 'subscription', customer, subscription_data: { trial_period_days: 14 } },
      line_items: lines.map((price) => ({ price: text(price, 'price_id'), quantity: 1 })),
    });
    const path = `/v1/test_helpers/checkout/sessions/${text(session, 'checkout_session_id')}/complete`;
    const complete = async (cards: Json) =>
      record(await api.ok('POST', path, { body: { checkout_session: cards } }), 'checkout_session');
    expect(await complete({ payment_method: card })).toMatchObject({
      status: 'open',
      next_action: { type: 'provide_second_payment_method' },
    });
    const id = text(await complete({ payment_method: card, second_payment_method: other }), 'subscription');
    const read = async () => record((await api.get(`/v1/subscriptions/${id}`)).body, 'subscription');
    expect(await read()).toMatchObject({ status: 'trialing', default_payment_method: card });
    await advance(clock, '2027-02-14T00:00:00Z');
    expect(await read()).toMatchObject({ status: 'active' });
    const [invoice] = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices');
    expect(invoice).toMatchObject({ status: 'paid', amount_due: 0, backup_charge_status: 'succeeded' });
    const chargesOf = async (of: Json | undefined) => {
      const charges = records(await eligo.sandbox('GET', '/sandbox/charges?limit=1000'), 'data');
      return charges.filter(({ metadata }) => (metadata as Json).invoice === of?.invoice_id);
    };
    const paid = await chargesOf(invoice);
    expect(paid).toHaveLength(2);
    const total = paid.reduce((sum, { amount }) => sum + Number(amount), 0);
    expect(total).toBe(invoice?.amount_paid);
    // Without the other card, the health card pays no part.
    await api.ok('POST', `/v1/payment_methods/${other}/detach`, {});
    await advance(clock, '2027-03-14T00:00:00Z');
    expect(await read()).toMatchObject({ status: 'past_due' });
    const [second] = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices');
    expect(second).toMatchObject({ status: 'open', amount_paid: 0, period_start: '2027-03-14T00:00:00.000Z' });
    expect(await chargesOf(second)).toEqual([]);
  });

  it('has subscriptions that the API creates, on stored cards, with a coupon and other items, and that expire unpaid [SUB-9, SUB-10, D14.115, D14.185]', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const [card, other] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const monthly = await make(api, '/v1/prices', 'price', {
      product: shop.eligibleProductId,
      unit_amount: 2_000,
      recurring: { interval: 'month' },
    });
    const coupon = text(
      await make(api, '/v1/coupons', 'coupon', { percent_off: 25, max_redemptions: 1, duration: 'once' }),
      'coupon_id',
    );
    const fields = {
      ...{ customer, items: [{ price: text(monthly, 'price_id'), quantity: 2 }], coupon },
      ...{ default_payment_method: card, backup_payment_method: other },
    };
    const made = await make(api, '/v1/subscriptions?expand=latest_invoice', 'subscription', fields);
    expect(made).toMatchObject({
      status: 'active',
      latest_invoice: { status: 'paid', total: 3_000, amount_paid: 3_000 },
    });
    expect(await api.post('/v1/subscriptions', { subscription: fields })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'subscription', 'coupon'], type: 'coupon_not_applicable' }] },
    });
    // A promo code is a coupon, too.
    const forever = text(
      await make(api, '/v1/coupons', 'coupon', { percent_off: 10, duration: 'forever' }),
      'coupon_id',
    );
    await make(api, '/v1/promo_codes', 'promo_code', { coupon: forever, code: 'LASTING' });
    const byCode = { ...fields, coupon: undefined, promo_code: 'LASTING' };
    expect(await make(api, '/v1/subscriptions?expand=latest_invoice', 'subscription', byCode)).toMatchObject({
      status: 'active',
      latest_invoice: { status: 'paid', total: 3_600, amount_paid: 3_600 },
    });
    // A third piece at the beginning of the period: what two were paid at is credited, and three are charged.
    const change = { items: [{ ...fields.items[0], quantity: 3 }], proration_behavior: 'always_invoice' };
    const path = `/v1/subscriptions/${text(made, 'subscription_id')}?expand=latest_invoice`;
    for (const _ of [1, 2]) {
      expect(record(await api.ok('PATCH', path, { body: { subscription: change } }), 'subscription')).toMatchObject({
        ...{ status: 'active', items: [{ quantity: 3 }], proration_behavior: 'always_invoice' },
        latest_invoice: { status: 'paid', total: 3_000, period_end: '2027-02-28T00:00:00.000Z' },
      });
    }
    const declined = await newCard(api, customer, 'insufficient_funds');
    const unpaid = { ...fields, coupon: null, default_payment_method: declined };
    const { subscription_id: id } = await make(api, '/v1/subscriptions', 'subscription', unpaid);
    const read = async () =>
      record((await api.get(`/v1/subscriptions/${id}?expand=latest_invoice`)).body, 'subscription');
    expect(await read()).toMatchObject({ status: 'incomplete', latest_invoice: { status: 'open' } });
    await advance(clock, '2027-02-28T00:00:00Z');
    expect(await read()).toMatchObject({
      status: 'incomplete_expired',
      latest_invoice: { status: 'void', amount_due: 0 },
    });
    // The other subscription renews at the same time, in either order.
    const invoices = records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices');
    expect(invoices.find(({ subscription }) => subscription === made.subscription_id)).toMatchObject({
      ...{ status: 'paid', total: 6_000, period_start: '2027-02-28T00:00:00.000Z' },
    });
  });

  it('has first payments that wait for the customer whom a bank asks, with the secret in the response to their creation alone [SUB-9, D14.258]', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const price = await make(api, '/v1/prices', 'price', {
      ...{ product: shop.eligibleProductId, unit_amount: 2_000, recurring: { interval: 'month' } },
    });
    const fields = {
      ...{ customer, items: [{ price: text(price, 'price_id'), quantity: 1 }] },
      default_payment_method: await newCard(api, customer, 'authentication_required'),
    };
    const create = async (key: string) => {
      const answer = await api.ok('POST', '/v1/subscriptions', {
        ...{ body: { subscription: fields }, headers: { 'Idempotency-Key': key } },
      });
      return record(answer, 'subscription');
    };
    const read = async ({ subscription_id: id }: Json) =>
      record((await api.get(`/v1/subscriptions/${id}`)).body, 'subscription');
    const made = await create('one');
    const asked = { setup_secret: null, payment_secret: expect.stringMatching(/^pi_.*_secret_/) };
    expect(made).toMatchObject({ status: 'incomplete', client_secret: asked });
    expect(await create('one')).toEqual(made);
    expect(await read(made)).toMatchObject({ status: 'incomplete', client_secret: null });
    const pay = () => api.post(`/v1/invoices/${made.latest_invoice}/pay`, {});
    expect(await pay()).toMatchObject({ status: 402, body: { code: 'authentication_required' } });
    const [intent] = text(record(made, 'client_secret'), 'payment_secret').split('_secret_');
    await eligo.sandbox('POST', `/sandbox/authentications/${intent}`, { outcome: 'success' });
    // Whoever does not wait for the processor's event asks.
    expect(await pay()).toMatchObject({ status: 200, body: { invoice: { status: 'paid', amount_paid: 2_000 } } });
    expect(await read(made)).toMatchObject({ status: 'active', client_secret: null });
    expect(await create('one')).toMatchObject({ subscription_id: made.subscription_id, client_secret: null });
    const left = await create('two');
    expect(left.subscription_id).not.toBe(made.subscription_id);
    await advance(clock, '2027-02-01T00:00:00Z');
    expect(await read(left)).toMatchObject({ status: 'incomplete_expired' });
    const [late] = text(record(left, 'client_secret'), 'payment_secret').split('_secret_');
    await expect(eligo.sandbox('POST', `/sandbox/authentications/${late}`, { outcome: 'success' })).rejects.toThrow();
  });

  it('has cards of trials that are set up with the secret in the response to their creation alone, and pay when the trial ends [SUB-9, D14.259]', async () => {
    const clock = await clockAt('2027-01-31T00:00:00Z');
    const customer = await newCustomer(api, { test_clock: clock });
    const price = await make(api, '/v1/prices', 'price', {
      ...{ product: shop.eligibleProductId, unit_amount: 2_000, recurring: { interval: 'month' } },
    });
    const card = await newCard(api, customer, 'authentication_required');
    const create = async (key: string, parts: Json = {}) => {
      const subscription = {
        ...{ customer, items: [{ price: text(price, 'price_id'), quantity: 1 }], trial_period_days: 14 },
        ...parts,
      };
      const answer = await api.ok('POST', '/v1/subscriptions', {
        ...{ body: { subscription }, headers: { 'Idempotency-Key': key } },
      });
      return record(answer, 'subscription');
    };
    const read = async ({ subscription_id: id }: Json) =>
      record((await api.get(`/v1/subscriptions/${id}`)).body, 'subscription');
    const intentOf = (made: Json) => text(record(made, 'client_secret'), 'setup_secret').split('_secret_')[0];
    const passes = (made: Json) =>
      eligo.sandbox('POST', `/sandbox/authentications/${intentOf(made)}`, { outcome: 'success' });
    const ofCustomer = async () =>
      records((await api.get(`/v1/setup_intents?customer=${customer}`)).body, 'setup_intents');
    const asked = { setup_secret: expect.stringMatching(/^seti_.*_secret_/), payment_secret: null };
    const named = await create('set-up-one', { default_payment_method: card });
    expect(named).toMatchObject({ status: 'trialing', client_secret: asked });
    expect(await create('set-up-one', { default_payment_method: card })).toEqual(named);
    expect(await read(named)).toMatchObject({ status: 'trialing', client_secret: null });
    await passes(named);
    // By the event of the processor: Eligo looks by itself after 15 s.
    await waitUntil(async () => (await ofCustomer())[0]?.status === 'succeeded', { withinMs: 10_000 });
    expect(await create('set-up-one', { default_payment_method: card })).toMatchObject({ client_secret: null });
    expect(await ofCustomer()).toMatchObject([{ status: 'succeeded', payment_method: card }]);
    // The card is set up: another trial needs nothing more.
    expect(await create('set-up-two', { default_payment_method: card })).toMatchObject({
      ...{ status: 'trialing', client_secret: null },
    });
    const end = { trial_settings: { end_behavior: { missing_payment_method: 'cancel' } } };
    const without = await create('set-up-three', end);
    expect(without).toMatchObject({ status: 'trialing', default_payment_method: null, client_secret: asked });
    const canceled = await create('set-up-four', end);
    await api.ok('DELETE', `/v1/subscriptions/${canceled.subscription_id}`, {});
    await waitUntil(async () => (await ofCustomer())[0]?.status === 'canceled');
    // A browser gives a card with the secret, and the trial's end charges it.
    const given = await create('set-up-five', end);
    const { url: origin } = eligo.processor;
    const reply = await fetch(`${origin}/fields/set_ups`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json', origin } },
      body: JSON.stringify({
        client_secret: record(given, 'client_secret').setup_secret,
        payment_method: 'pm_card_visa',
      }),
    });
    expect(await reply.json()).toEqual({ status: 'succeeded' });
    await advance(clock, '2027-02-14T00:00:01Z');
    const paid = await read(given);
    expect(paid).toMatchObject({ status: 'active', default_payment_method: expect.stringMatching(/^fpm_/) });
    expect((await api.get(`/v1/invoices/${paid.latest_invoice}`)).body).toMatchObject({
      invoice: { status: 'paid', amount_paid: 2_000 },
    });
    expect((await api.get(`/v1/payment_methods/${paid.default_payment_method}`)).body).toMatchObject({
      payment_method: { customer },
    });
    expect(await read(without)).toMatchObject({ status: 'canceled', default_payment_method: null });
    const { length: ofAll } = await ofCustomer();
    expect(ofAll).toBe(4);
  });

  it('is listed, newest first, until it is deleted, and keeps its time until then [RUN-5]', async () => {
    const [first, second] = [await clockAt('2027-01-01T00:00:00Z'), await clockAt('2028-01-01T00:00:00Z')];
    const listed = async (query: string) =>
      records((await api.get(`/v1/test_helpers/test_clocks?${query}`)).body, 'test_clocks').map(
        ({ test_clock_id: id, frozen_time: time }) => [id, time],
      );
    expect(await listed('limit=2')).toEqual([
      [second, '2028-01-01T00:00:00.000Z'],
      [first, '2027-01-01T00:00:00.000Z'],
    ]);
    expect((await listed(`limit=1&starting_after=${second}`)).map(([id]) => id)).toEqual([first]);
    expect((await api.delete(`/v1/test_helpers/test_clocks/${second}`)).status).toBe(200);
    expect((await listed('limit=1')).map(([id]) => id)).toEqual([first]);
    expect((await advance(second, '2029-01-01T00:00:00Z')).status).toBe(404);
  });

  it('goes forward only [RUN-5]', async () => {
    const clock = await clockAt('2027-01-01T00:00:00Z');
    expect(await advance(clock, '2026-12-31T23:59:59Z')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'test_clock', 'frozen_time'], type: 'test_clock_cannot_go_back' }] },
    });
  });
});
