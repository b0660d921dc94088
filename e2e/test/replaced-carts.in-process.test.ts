import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, records, text } from '../src/records.ts';
import { make, openShop, type Shop } from '../src/shop.ts';

describe('a changed cart under the key of an open session', () => {
  let eligo: Constellation;
  let api: Api;
  let shop: Shop;
  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    shop = await openShop(api);
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  const newKey = () => ({ headers: { 'idempotency-key': newId('request') } });
  const create = (key: ReturnType<typeof newKey>, fields: Json) =>
    api.post(
      '/v1/checkout/sessions',
      { checkout_session: { success_url: 'https://shop.example/done', ...fields } },
      key,
    );
  const cart = (quantity: number) => ({ line_items: [{ price: shop.eligiblePriceId, quantity }] });
  const sessionOf = ({ body }: Awaited<ReturnType<typeof create>>) => record(body, 'checkout_session');
  const statusOf = async (session: Json) =>
    record((await api.get(`/v1/checkout/sessions/${text(session, 'checkout_session_id')}`)).body, 'checkout_session')
      .status;
  const coupon = async (fields: Json = {}) =>
    text(await make(api, '/v1/coupons', 'coupon', { percent_off: 10, ...fields }), 'coupon_id');
  const promoCode = async (coupon_id: string, fields: Json = {}) => {
    const code = newId('request');
    const made = await make(api, '/v1/promo_codes', 'promo_code', { coupon_id, code, ...fields });
    return { code, id: text(made, 'promo_code_id') };
  };
  const redeemed = async (id: string) =>
    record((await api.get(`/v1/promo_codes/${id}`)).body, 'promo_code').times_redeemed;
  const refusal = ({ status, body }: Awaited<ReturnType<typeof create>>) => [
    status,
    ...records(body, 'detail').map(({ type }) => type),
  ];

  it('takes over the code with one redemption that its shopper entered on the page [D1.1]', async () => {
    const { code, id } = await promoCode(await coupon(), { max_redemptions: 1 });
    const key = newKey();
    const first = sessionOf(await create(key, { ...cart(1), allow_promotion_codes: true }));
    const entered = await fetch(`${text(first, 'redirect_url')}/promo-code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    expect(entered.status).toBe(200);
    expect(await redeemed(id)).toBe(1);
    const changed = await create(key, { ...cart(2), discounts: [{ promo_code: code }] });
    expect(changed.status).toBe(200);
    expect(await statusOf(first)).toBe('expired');
    expect(await redeemed(id)).toBe(1);
  });

  it.each(['promo code', 'coupon'] as const)(
    'takes over the one redemption of a coupon whose other code, or which itself as a %s, the earlier session holds [D1.1]',
    async (kind) => {
      const coupon_id = await coupon({ max_redemptions: 1 });
      const [one, other] = [await promoCode(coupon_id), await promoCode(coupon_id)];
      const key = newKey();
      const held = kind === 'coupon' ? { coupon_id } : { promo_code: one.code };
      const first = sessionOf(await create(key, { ...cart(1), discounts: [held] }));
      const changed = await create(key, { ...cart(2), discounts: [{ promo_code: other.code }] });
      expect(changed.status).toBe(200);
      expect(await statusOf(first)).toBe('expired');
      expect([await redeemed(one.id), await redeemed(other.id)]).toEqual([0, 1]);
    },
  );

  it('leaves the earlier session open where the coupon that it holds is for no line of the new cart [D1.1]', async () => {
    const coupon_id = await coupon({ max_redemptions: 1, applies_to: { prices: [shop.eligiblePriceId] } });
    const key = newKey();
    const lines = [shop.eligiblePriceId, shop.otherPriceId].map((price) => ({ price, quantity: 1 }));
    const first = sessionOf(await create(key, { line_items: lines, discounts: [{ coupon_id }] }));
    const refused = await create(key, { line_items: lines.slice(1), discounts: [{ coupon_id }] });
    expect(refusal(refused)).toEqual([422, 'coupon_not_applicable']);
    expect(await statusOf(first)).toBe('open');
  });

  it('leaves the earlier session open where the code that it holds is no longer active [D1.1]', async () => {
    const { code, id } = await promoCode(await coupon(), { max_redemptions: 1 });
    const key = newKey();
    const first = sessionOf(await create(key, { ...cart(1), discounts: [{ promo_code: code }] }));
    expect((await api.patch(`/v1/promo_codes/${id}`, { promo_code: { active: false } })).status).toBe(200);
    const refused = await create(key, { ...cart(2), discounts: [{ promo_code: code }] });
    expect(refusal(refused)).toEqual([422, 'promo_code_invalid']);
    expect(await statusOf(first)).toBe('open');
    expect(await redeemed(id)).toBe(1);
  });

  it('leaves the earlier session open where something else of the new cart is refused as well [D1.1]', async () => {
    const { code, id } = await promoCode(await coupon(), { max_redemptions: 1 });
    const key = newKey();
    const first = sessionOf(await create(key, { ...cart(1), discounts: [{ promo_code: code }] }));
    const refused = await create(key, {
      line_items: [shop.eligiblePriceId, newId('price')].map((price) => ({ price, quantity: 1 })),
      discounts: [{ promo_code: code }],
    });
    expect(refusal(refused)).toEqual([422, 'price_not_found']);
    expect(await statusOf(first)).toBe('open');
    expect(await redeemed(id)).toBe(1);
  });
});
