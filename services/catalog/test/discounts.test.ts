import type { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture({ connections: 50 });
});
afterAll(() => on.close());

const coupon = (shop: Shop, fields: object = {}) =>
  on.gateway.createCoupon({ percentOffBasisPoints: 3000, ...fields }, shop);
const newCode = () => `CODE-${newId('product')}`;

async function promoCode(shop: Shop, fields: object = {}, couponFields: object = {}) {
  const { couponId } = await coupon(shop, couponFields);
  return on.gateway.createPromoCode({ couponId, code: newCode(), ...fields }, shop);
}

describe('a coupon', () => {
  it('takes an amount or a percentage off, for once by default, and is read back whole [END-1, REC-1, API-6]', async () => {
    const shop = on.account();
    const made = await coupon(shop, { name: 'Thirty', metadata: { a: '1' }, maxRedemptions: 5 });
    expect(made).toMatchObject({ duration: 'once', timesRedeemed: 0, valid: true, percentOffBasisPoints: 3000 });
    expect(await on.gateway.getCoupon({ id: made.couponId }, shop)).toEqual(made);
    expect((await on.gateway.batchGetCoupons({ ids: [made.couponId] }, shop)).coupons).toEqual([made]);
    const amount = await on.gateway.createCoupon(
      { amountOffCents: 1n, duration: 'repeating', durationInMonths: 3 },
      shop,
    );
    expect((await on.gateway.listCoupons({}, shop)).coupons).toEqual([amount, made]);
  });

  it('that contradicts itself is refused at the field [D14.27]', async () => {
    const shop = on.account();
    const cases = [
      [{ percentOffBasisPoints: undefined }, 'amount_off', 'invalid_value'],
      [{ amountOffCents: 5n }, 'amount_off', 'invalid_value'],
      [{ percentOffBasisPoints: 0 }, 'percent_off', 'out_of_range'],
      [{ percentOffBasisPoints: 10_001 }, 'percent_off', 'out_of_range'],
      [{ duration: 'twice' }, 'duration', 'invalid_value'],
      [{ duration: 'repeating' }, 'duration_in_months', 'invalid_value'],
      [{ durationInMonths: 2 }, 'duration_in_months', 'invalid_value'],
      [{ maxRedemptions: 0 }, 'max_redemptions', 'out_of_range'],
      [{ appliesTo: { products: ['a'], prices: ['b'] } }, 'applies_to', 'invalid_value'],
      [{ appliesTo: { products: ['a'] } }, 'applies_to.products.0', 'product_not_found'],
      [{ appliesTo: { prices: [newId('price')] } }, 'applies_to.prices.0', 'price_not_found'],
    ] as const;
    for (const [fields, loc, type] of cases) {
      expect(await refusalOf(coupon(shop, fields))).toEqual([[`body.coupon.${loc}`, type]]);
    }
  });

  it('that was deleted takes no redemption, but stays readable [END-1]', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop);
    const deleted = await on.gateway.deleteCoupon({ id: couponId }, shop);
    expect(deleted.valid).toBe(false);
    expect(await on.gateway.deleteCoupon({ id: couponId }, shop)).toEqual(deleted);
    expect(await on.gateway.getCoupon({ id: couponId }, shop)).toEqual(deleted);
    const reserved = on.checkout.reserveRedemption(
      { sessionId: newId('checkout_session'), couponIds: [couponId] },
      shop.atCheckout,
    );
    expect(await refusalOf(reserved)).toBe('coupon_not_applicable');
    const code = on.gateway.createPromoCode({ couponId, code: newCode() }, shop);
    expect(await refusalOf(code)).toEqual([['body.promo_code.coupon_id', 'coupon_not_found']]);
    expect(await refusalOf(on.gateway.deleteCoupon({ id: couponId }, on.account()))).toBe('coupon_not_found');
  });
});

describe('a promo code', () => {
  it('shows its coupon populated, and is found by code, coupon, customer and state [END-1, REC-1]', async () => {
    const shop = on.account();
    const customerId = newId('customer');
    const made = await promoCode(
      shop,
      { customerId, maxRedemptions: 3, metadata: { a: '1' } },
      { amountOffCents: 2n ** 52n, percentOffBasisPoints: undefined },
    );
    expect(made.coupon).toMatchObject({
      amountOffCents: 2n ** 52n,
      valid: true,
      appliesTo: { products: [], prices: [] },
    });
    expect(await on.gateway.getPromoCode({ id: made.promoCodeId }, shop)).toEqual(made);
    const filters = [
      {},
      { code: made.code.toLowerCase() },
      { couponId: made.coupon?.couponId },
      { customerId },
      { active: true },
    ];
    for (const filter of filters) expect((await on.gateway.listPromoCodes(filter, shop)).promoCodes).toEqual([made]);
    for (const filter of [{ code: 'x' }, { couponId: 'x' }, { customerId: 'x' }, { active: false }]) {
      expect((await on.gateway.listPromoCodes(filter, shop)).promoCodes).toEqual([]);
    }
    const updated = await on.gateway.updatePromoCode({ id: made.promoCodeId, active: false }, shop);
    expect(updated).toEqual({ ...made, active: false });
    expect(await refusalOf(on.gateway.updatePromoCode({ id: newId('promo_code') }, shop))).toBe('promo_code_not_found');
  });

  it('is listed newest first among those of its coupon or customer, of one state and of both, on every page [D14.312]', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop);
    const customerId = newId('customer');
    const made: { id: string; active: boolean; isOfCustomer: boolean }[] = [];
    for (let n = 0; n < 9; n++) {
      const [active, isOfCustomer] = [n % 3 > 0, n % 2 > 0];
      const fields = { couponId, code: newCode(), active, ...(isOfCustomer ? { customerId } : {}) };
      made.unshift({ id: (await on.gateway.createPromoCode(fields, shop)).promoCodeId, active, isOfCustomer });
    }
    for (const active of [undefined, true, false]) {
      for (const filter of [{ couponId }, { customerId }, { couponId, customerId }]) {
        const ids = made
          .filter((one) => (active ?? one.active) === one.active && (one.isOfCustomer || !('customerId' in filter)))
          .map(({ id }) => id);
        const listed = async (page: object) =>
          (await on.gateway.listPromoCodes({ ...filter, active, page }, shop)).promoCodes.map((one) => one.promoCodeId);
        expect(await listed({})).toEqual(ids);
        expect(await listed({ limit: 2n })).toEqual(ids.slice(0, 2));
        expect(await listed({ limit: 2n, offset: 1 })).toEqual(ids.slice(1, 3));
        expect(await listed({ limit: 2n, startingAfter: ids[0] })).toEqual(ids.slice(1, 3));
        expect(await listed({ limit: 2n, endingBefore: ids.at(-1) })).toEqual(ids.slice(0, -1).slice(-2));
      }
    }
  });

  it('is unique among active ones, case-insensitively, per account and mode [REC-1]', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop);
    const first = await on.gateway.createPromoCode({ couponId, code: 'Straße10' }, shop);
    const again = (code: string) => on.gateway.createPromoCode({ couponId, code }, shop);
    expect(await refusalOf(again('STRASSE10'))).toBe('promo_code_in_use');
    // A zero-width space and a soft hyphen: nobody sees the difference.
    expect(await refusalOf(again('STRASSE\u200b1\u00ad0'))).toBe('promo_code_in_use');
    await on.gateway.updatePromoCode({ id: first.promoCodeId, active: false }, shop);
    await again('strasse10');
    expect(await refusalOf(on.gateway.updatePromoCode({ id: first.promoCodeId, active: true }, shop))).toBe(
      'promo_code_in_use',
    );
    expect(await refusalOf(again('  '))).toEqual([['body.promo_code.code', 'missing']]);
    const live = on.account({ accountId: shop.accountId, testMode: false });
    const other = await coupon(live);
    await on.gateway.createPromoCode({ couponId: other.couponId, code: 'STRASSE10' }, live);
  });

  it('has at most 500 characters, whatever they take to write, also when it is folded', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop);
    const made = (code: string) => refusalOf(on.gateway.createPromoCode({ couponId, code }, shop));
    expect(await made('\u{1f957}'.repeat(500))).toBe('no refusal');
    // One character that is folded to eighteen.
    for (const code of ['a'.repeat(501), '\ufdfa'.repeat(100)]) {
      expect(await made(code)).toEqual([['body.promo_code.code', 'too_long']]);
    }
  });
});

describe('a redemption', () => {
  const reserve = (shop: Shop, request: object) =>
    on.checkout.reserveRedemption({ sessionId: newId('checkout_session'), ...request }, shop.atCheckout);

  it('of a code with ten left, a hundred at once: ten succeed', async () => {
    const shop = on.account();
    const { promoCodeId } = await promoCode(shop, { maxRedemptions: 10 });
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () => refusalOf(reserve(shop, { promoCodeIds: [promoCodeId] }))),
    );
    expect(outcomes.filter((outcome) => outcome === 'no refusal')).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === 'promo_code_invalid')).toHaveLength(90);
    const after = await on.gateway.getPromoCode({ id: promoCodeId }, shop);
    expect([after.timesRedeemed, after.coupon?.timesRedeemed]).toEqual([10, 10]);
  });

  it('that comes too late names what is used up at the discounts, and a code whose coupon is used up as that code [D14.56]', async () => {
    const shop = on.account();
    const fresh = await promoCode(shop);
    const code = await promoCode(shop, {}, { maxRedemptions: 1 });
    const couponId = code.coupon?.couponId ?? '';
    await reserve(shop, { couponIds: [couponId] });
    const bodyPath = ['body', 'checkout_session'];
    const refused = (request: object) =>
      reserve(shop, { bodyPath, ...request }).then(
        () => 'no refusal',
        (error) => (error as Failure).violations,
      );
    const loc = [...bodyPath, 'discounts'];
    const invalid = 'promo_code_invalid';
    // Checkout names the coupons behind the codes, too.
    expect(await refused({ couponIds: [couponId], promoCodeIds: [fresh.promoCodeId, code.promoCodeId] })).toEqual([
      { loc, type: invalid, msg: `${invalid}: ${code.promoCodeId}` },
    ]);
    expect(await refused({ couponIds: [couponId], promoCodeIds: [fresh.promoCodeId] })).toEqual([
      { loc, type: 'coupon_not_applicable', msg: `coupon_not_applicable: ${couponId}` },
    ]);
    await on.gateway.updatePromoCode({ id: fresh.promoCodeId, active: false }, shop);
    expect(await refused({ promoCodeIds: [fresh.promoCodeId] })).toEqual([
      { loc, type: invalid, msg: `${invalid}: ${fresh.promoCodeId}` },
    ]);
  });

  it('counts a coupon once for a session, however often it is listed and whatever is repeated [D14.13]', async () => {
    const shop = on.account();
    const code = await promoCode(shop, {}, { maxRedemptions: 5 });
    const couponId = code.coupon?.couponId ?? '';
    const request = {
      sessionId: newId('checkout_session'),
      couponIds: [couponId, couponId],
      promoCodeIds: [code.promoCodeId],
    };
    await Promise.all(Array.from({ length: 8 }, () => on.checkout.reserveRedemption(request, shop.atCheckout)));
    expect((await on.gateway.getCoupon({ id: couponId }, shop)).timesRedeemed).toBe(1);
  });

  it('is released once, and never when it is final', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop, { maxRedemptions: 2 });
    const count = async () => (await on.gateway.getCoupon({ id: couponId }, shop)).timesRedeemed;
    const [released, final] = [newId('checkout_session'), newId('checkout_session')];
    for (const sessionId of [released, final]) await reserve(shop, { sessionId, couponIds: [couponId] });
    expect((await on.gateway.getCoupon({ id: couponId }, shop)).valid).toBe(false);
    await Promise.all(
      Array.from({ length: 5 }, () => on.checkout.releaseRedemption({ sessionId: released }, shop.atCheckout)),
    );
    expect(await count()).toBe(1);
    await on.checkout.finalizeRedemption({ sessionId: final }, shop.atCheckout);
    await on.checkout.finalizeRedemption({ sessionId: final }, shop.atCheckout);
    await on.checkout.releaseRedemption({ sessionId: final }, shop.atCheckout);
    await on.checkout.finalizeRedemption({ sessionId: released }, shop.atCheckout);
    expect(await count()).toBe(1);
    await on.checkout.finalizeRedemption({ sessionId: newId('checkout_session') }, shop.atCheckout);
  });

  it('of a code is released with that of its coupon, once', async () => {
    const shop = on.account();
    const code = await promoCode(shop, { maxRedemptions: 1 }, { maxRedemptions: 1 });
    const counts = async () => {
      const { timesRedeemed, coupon: behind } = await on.gateway.getPromoCode({ id: code.promoCodeId }, shop);
      return [timesRedeemed, behind?.timesRedeemed];
    };
    const sessionId = newId('checkout_session');
    await reserve(shop, { sessionId, promoCodeIds: [code.promoCodeId] });
    expect(await counts()).toEqual([1, 1]);
    await on.checkout.releaseRedemption({ sessionId }, shop.atCheckout);
    await on.checkout.releaseRedemption({ sessionId }, shop.atCheckout);
    expect(await counts()).toEqual([0, 0]);
    await reserve(shop, { promoCodeIds: [code.promoCodeId] });
    expect(await counts()).toEqual([1, 1]);
  });

  it('that arrives after its own release counts nothing [D14.13]', async () => {
    const shop = on.account();
    const { couponId } = await coupon(shop, { maxRedemptions: 1 });
    const sessionId = newId('checkout_session');
    await on.checkout.releaseRedemption({ sessionId }, shop.atCheckout);
    expect(await refusalOf(reserve(shop, { sessionId, couponIds: [couponId] }))).toBe('conflict');
    expect((await on.gateway.getCoupon({ id: couponId }, shop)).timesRedeemed).toBe(0);
  });

  it('is all or none: one code that is used up leaves the others uncounted', async () => {
    const shop = on.account();
    const [good, used] = [await promoCode(shop), await promoCode(shop, { maxRedemptions: 1 })];
    await reserve(shop, { promoCodeIds: [used.promoCodeId] });
    const both = reserve(shop, {
      promoCodeIds: [good.promoCodeId, used.promoCodeId],
      bodyPath: ['body', 'checkout_session'],
    });
    expect(await refusalOf(both)).toEqual([['body.checkout_session.discounts', 'promo_code_invalid']]);
    expect((await on.gateway.getPromoCode({ id: good.promoCodeId }, shop)).timesRedeemed).toBe(0);
  });

  it('of sessions that share coupons in any order never waits in a circle', async () => {
    const shop = on.account();
    const ids = (await Promise.all(Array.from({ length: 4 }, () => coupon(shop)))).map(({ couponId }) => couponId);
    const sessions = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? ids : [...ids].reverse()));
    await Promise.all(sessions.map((couponIds) => reserve(shop, { couponIds })));
    for (const id of ids) expect((await on.gateway.getCoupon({ id }, shop)).timesRedeemed).toBe(40);
  });

  it('of a code that has expired by the session’s own time, is inactive, or is another customer’s is refused', async () => {
    const shop = on.account();
    const customerId = newId('customer');
    const expiring = await promoCode(shop, { expiresAtMs: 1_000_000n });
    await reserve(shop, { promoCodeIds: [expiring.promoCodeId], atMs: 999_999n });
    expect(await refusalOf(reserve(shop, { promoCodeIds: [expiring.promoCodeId], atMs: 1_000_000n }))).toBe(
      'promo_code_invalid',
    );
    const off = await promoCode(shop, { active: false });
    expect(await refusalOf(reserve(shop, { promoCodeIds: [off.promoCodeId] }))).toBe('promo_code_invalid');
    const own = await promoCode(shop, { customerId });
    expect(await refusalOf(reserve(shop, { promoCodeIds: [own.promoCodeId] }))).toBe('promo_code_invalid');
    expect(await refusalOf(reserve(shop, { promoCodeIds: [own.promoCodeId], customerId: newId('customer') }))).toBe(
      'promo_code_invalid',
    );
    await reserve(shop, { promoCodeIds: [own.promoCodeId], customerId });
    const foreign = reserve(on.account(), { promoCodeIds: [own.promoCodeId], customerId });
    expect(await refusalOf(foreign)).toBe('promo_code_invalid');
  });

  it('past the limit is refused by the table itself', async () => {
    const shop = on.account();
    const { promoCodeId } = await promoCode(shop, { maxRedemptions: 1 });
    const past = on.place.admin('update catalog.promo_codes set times_redeemed = 2 where promo_code_id = $1', [
      promoCodeId,
    ]);
    await expect(past).rejects.toThrow(/promo_codes_redeemed_within_limit/);
  });
});

describe('a promo code that a shopper types', () => {
  const typed = (shop: Shop, code: string, fields: object = {}) =>
    on.checkout.resolvePromoCode({ code, atMs: BigInt(Date.now()), lines: [sold], ...fields }, shop.atCheckout);
  const sold = { priceId: newId('price'), productId: newId('product') };
  const refused = async (answer: Promise<unknown>) =>
    answer.then(
      () => 'found',
      (error: Failure) => error.code,
    );

  it('is found in any case with its coupon, and counts nothing [D14.165]', async () => {
    const shop = on.account();
    const made = await promoCode(shop);
    const found = await typed(shop, ` ${made.code.toLowerCase()} `);
    expect(found).toMatchObject({ promoCodeId: made.promoCodeId, code: made.code, coupon: { timesRedeemed: 0 } });
    expect(await refused(typed(on.account(), made.code))).toBe('promo_code_invalid');
  });

  it('is refused alike whether it never existed, has ended, is off or is for another customer or cart [D14.165]', async () => {
    const shop = on.account();
    const [off, late, own] = await Promise.all([
      promoCode(shop, { active: false }),
      promoCode(shop, { expiresAtMs: BigInt(Date.now() + 60_000) }),
      promoCode(shop, { customerId: newId('customer') }),
    ]);
    const typedCodes: [string, object][] = [
      ['NEVER', {}],
      [' ', {}],
      [off.code, {}],
      [own.code, {}],
      [own.code, { customerId: newId('customer') }],
      [late.code, { atMs: BigInt(Date.now() + 120_000) }],
    ];
    for (const [code, fields] of typedCodes) {
      expect(await refused(typed(shop, code, fields))).toBe('promo_code_invalid');
    }
    expect(await refused(typed(shop, late.code))).toBe('found');
    const product = await on.gateway.createProduct({ product: { name: 'A' } }, shop);
    const restricted = await promoCode(shop, {}, { appliesTo: { products: [product.productId] } });
    const line = { priceId: newId('price'), productId: product.productId };
    expect(await refused(typed(shop, restricted.code, { lines: [line] }))).toBe('found');
    expect(await refused(typed(shop, restricted.code, { lines: [{ ...line, productId: newId('product') }] }))).toBe(
      'coupon_not_applicable',
    );
    expect(await refused(typed(shop, late.code, { lines: [] }))).toBe('coupon_not_applicable');
  });
});
