import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, newCard, newCustomer, openShop, type Shop } from '../src/shop.ts';

let eligo: Constellation;
let api: Api;
let shop: Shop;

beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
  api = eligo.api();
  shop = await openShop(api);
}, 120_000);
afterAll(() => stopWithBooks(eligo), 60_000);

const monthly = async (unit_amount: number, product = shop.eligibleProductId) => {
  const recurring = { interval: 'month', interval_count: 1 };
  return text(await make(api, '/v1/prices', 'price', { product, unit_amount, recurring }), 'price_id');
};
const archive = (price: string) => api.ok('PATCH', `/v1/prices/${price}`, { body: { price: { active: false } } });
const newCoupon = async (fields: Json) =>
  text(await make(api, '/v1/coupons', 'coupon', { duration: 'forever', ...fields }), 'coupon_id');
const redeemed = async (coupon: string) =>
  record((await api.get(`/v1/coupons/${coupon}`)).body, 'coupon').times_redeemed;

/** A subscription of these prices on a clock of its own, since the first of April. */
async function subscribed(...prices: string[]) {
  const clock = await make(api, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time: '2027-04-01T00:00:00Z' });
  const customer = await newCustomer(api, { test_clock: text(clock, 'test_clock_id') });
  const made = await make(api, '/v1/subscriptions', 'subscription', {
    ...{ customer, default_payment_method: await newCard(api, customer, 'hsa') },
    items: prices.map((price) => ({ price, quantity: 1 })),
  });
  const path = `/v1/subscriptions/${text(made, 'subscription_id')}`;
  return {
    update: async (subscription: Json) =>
      record(await api.ok('PATCH', path, { body: { subscription } }), 'subscription'),
    refusal: async (subscription: Json) => {
      const { status, body } = await api.patch(path, { subscription });
      return [status, ...records(body, 'detail').map(({ loc, type }) => [(loc as string[]).join('.'), type])];
    },
    advance: (time: string) => advanceClock(api, text(clock, 'test_clock_id'), time),
    totals: async () =>
      records((await api.get(`/v1/invoices?customer=${customer}`)).body, 'invoices')
        .reverse()
        .map(({ total, status }) => [total, status]),
  };
}

describe('a subscription whose price is archived', () => {
  it('renews, keeps its price at a quantity change and takes a coupon and a promo code; a new archived price is refused at its place [D14.90, D14.116, D14.185]', async () => {
    const price = await monthly(1_900);
    const { update, refusal, advance, totals } = await subscribed(price);
    await archive(price);
    await advance('2027-05-01T00:00:00Z');
    await update({ items: [{ price, quantity: 3 }], proration_behavior: 'none' });
    await advance('2027-06-01T00:00:00Z');
    const coupon = await newCoupon({ amount_off: 500 });
    expect(await update({ coupon })).toMatchObject({ discounts: [{ source: { coupon } }] });
    await advance('2027-07-01T00:00:00Z');
    const half = await newCoupon({ percent_off: 50 });
    await make(api, '/v1/promo_codes', 'promo_code', { coupon: half, code: 'STAYHALF' });
    await update({ promo_code: 'stayhalf', items: [{ price, quantity: 2 }] });
    await advance('2027-08-01T00:00:00Z');
    expect(await totals()).toEqual([1_900, 1_900, 5_700, 5_200, 1_900].map((total) => [total, 'paid']));
    expect([await redeemed(coupon), await redeemed(half)]).toEqual([1, 1]);
    const gone = await monthly(900);
    await archive(gone);
    const items = [{ price }, { price: gone }];
    const refused = [422, ['body.subscription.items.1.price', 'price_not_found']];
    expect(await refusal({ items })).toEqual(refused);
    expect(await refusal({ items, coupon })).toEqual(refused);
    expect([await redeemed(coupon), await redeemed(half)]).toEqual([1, 1]);
  });

  it('whose product is archived renews and takes a coupon for that product, too [D14.90, D14.116]', async () => {
    const product = text(
      await make(api, '/v1/products', 'product', { name: 'Lenses', hsa_fsa_eligibility: 'vision' }),
      'product_id',
    );
    const { update, advance, totals } = await subscribed(await monthly(1_900, product));
    await api.ok('PATCH', `/v1/products/${product}`, { body: { product: { active: false } } });
    await update({ coupon: await newCoupon({ amount_off: 500, applies_to: { products: [product] } }) });
    await advance('2027-05-01T00:00:00Z');
    expect(await totals()).toEqual([
      [1_900, 'paid'],
      [1_400, 'paid'],
    ]);
  });
});

describe('a coupon and items in one update', () => {
  it('fit together: a coupon for the new price is taken, and one for the price that goes is refused and not counted [D14.116]', async () => {
    const [old, better] = [await monthly(1_900), await monthly(2_900)];
    const { update, refusal, advance, totals } = await subscribed(old);
    const [ofOld, ofBetter] = [
      await newCoupon({ amount_off: 500, applies_to: { prices: [old] } }),
      await newCoupon({ amount_off: 500, applies_to: { prices: [better] } }),
    ];
    const items = [{ price: better, quantity: 1 }];
    expect(await refusal({ coupon: ofOld, items })).toEqual([
      422,
      ['body.subscription.coupon', 'coupon_not_applicable'],
    ]);
    expect(await redeemed(ofOld)).toBe(0);
    await update({ coupon: ofBetter, items, proration_behavior: 'none' });
    await advance('2027-05-01T00:00:00Z');
    expect([await totals(), await redeemed(ofBetter)]).toEqual([
      [
        [1_900, 'paid'],
        [2_400, 'paid'],
      ],
      1,
    ]);
  });
});
