import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture({ connections: 50 });
});
afterAll(() => on.close());

type Line = NonNullable<Parameters<Fixture['checkout']['resolveCart']>[0]['lines']>[number];
const ofPrice = (value: string): Line => ({ item: { case: 'priceId', value }, quantity: 1n });
const ofProduct = (value: string): Line => ({ item: { case: 'productId', value }, quantity: 1n });
const ofData = (unitAmountCents: bigint, owner: object): Line =>
  ({ item: { case: 'priceData', value: { unitAmountCents, owner } }, quantity: 2n }) as Line;

const resolve = (shop: Shop, request: Parameters<Fixture['checkout']['resolveCart']>[0]) =>
  on.checkout.resolveCart({ sessionId: newId('checkout_session'), ...request }, shop.atCheckout);

const makeProduct = async (shop: Shop, product: object = {}) =>
  (await on.gateway.createProduct({ product }, shop)).productId;

async function makePrice(shop: Shop, productId: string, fields: object = {}): Promise<string> {
  const owner = { case: 'productId', value: productId } as const;
  return (await on.gateway.createPrice({ unitAmountCents: 100n, owner, ...fields }, shop)).priceId;
}

describe('a cart', () => {
  it('of prices is resolved in the order of its lines, with product, class and shipping rate', async () => {
    const shop = on.account();
    const eligible = await makeProduct(shop, { hsaFsaEligibility: 'auto_substantiation', name: 'Plaster' });
    const plain = await makeProduct(shop, { name: 'Mug' });
    const [a, b] = [
      await makePrice(shop, eligible),
      await makePrice(shop, plain, { hsaFsaEligibility: 'not_eligible' }),
    ];
    const rate = await on.gateway.createShippingRate({ displayName: 'Ground', amountCents: 500n }, shop);
    const cart = await resolve(shop, {
      lines: [ofPrice(b), ofPrice(a), ofPrice(b)],
      shippingRateId: rate.shippingRateId,
    });
    expect(cart.lines.map(({ price }) => price?.priceId)).toEqual([b, a, b]);
    expect(cart.lines.map(({ product }) => product?.name)).toEqual(['Mug', 'Plaster', 'Mug']);
    expect(cart.lines.map(({ eligibility }) => [eligibility?.hsaFsaEligibility, eligibility?.rule])).toEqual([
      ['not_eligible', 'price'],
      ['auto_substantiation', 'product'],
      ['not_eligible', 'price'],
    ]);
    expect(cart.shippingRate).toEqual(rate);
  });

  it('of prices whose classes are set costs one round trip', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop, { hsaFsaEligibility: 'vision' });
    const lines = await Promise.all(Array.from({ length: 3 }, async () => ofPrice(await makePrice(shop, productId))));
    const statements: unknown[] = [];
    const original = on.database.rows;
    on.database.rows = function rows(this: typeof on.database, ...given: unknown[]) {
      statements.push(given[0]);
      return Reflect.apply(original, this, given);
    } as typeof original;
    try {
      await resolve(shop, { lines });
    } finally {
      on.database.rows = original;
    }
    expect(statements).toHaveLength(1);
  });

  it('of prices is resolved together with others as it is alone; one that is refused leaves the others whole', async () => {
    const shop = on.account();
    const [a, b] = [
      await makePrice(shop, await makeProduct(shop, { hsaFsaEligibility: 'vision' })),
      await makePrice(shop, await makeProduct(shop, { hsaFsaEligibility: 'not_eligible' })),
    ];
    const { shippingRateId } = await on.gateway.createShippingRate({ displayName: 'Ground', amountCents: 500n }, shop);
    const { carts } = await on.checkout.resolveCarts(
      {
        carts: [
          { priceIds: [b, a], shippingRateId },
          { priceIds: [a, newId('price')] },
          { priceIds: [a], shippingRateId: newId('shipping_rate') },
          { priceIds: [a] },
        ],
      },
      shop.atCheckout,
    );
    const alone = await Promise.all([
      resolve(shop, { lines: [ofPrice(b), ofPrice(a)], shippingRateId }),
      resolve(shop, { lines: [ofPrice(a)] }),
    ]);
    expect(carts.map(({ cart }) => cart)).toEqual([alone[0], undefined, undefined, alone[1]]);
    const tooMany = on.checkout.resolveCarts({ carts: Array(17).fill({ priceIds: [a] }) }, shop.atCheckout);
    expect(await refusalOf(tooMany)).toBe('bad_request');
  });

  it('names every bad reference at its place, and echoes only ids of ours [D1.9, D13.7]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const archived = await makePrice(shop, productId, { active: false });
    const hiddenProduct = await makeProduct(shop);
    const hidden = await makePrice(shop, hiddenProduct);
    await on.gateway.updateProduct({ id: hiddenProduct, active: false }, shop);
    const stranger = on.account();
    const foreign = await makePrice(stranger, await makeProduct(stranger));
    const rate = await on.gateway.createShippingRate({ displayName: 'Old', amountCents: 1n }, shop);
    await on.gateway.updateShippingRate({ id: rate.shippingRateId, active: false }, shop);
    const refused = resolve(shop, {
      lines: [archived, hidden, foreign, 'rm -rf'].map(ofPrice),
      shippingRateId: rate.shippingRateId,
      bodyPath: ['body', 'checkout_session'],
    });
    const error = await refused.catch(
      (caught: unknown) => caught as { violations: { loc: string[]; msg: string; type: string }[] },
    );
    expect('violations' in error ? error.violations : error).toEqual([
      ...[archived, hidden, foreign].map((id, index) => ({
        loc: ['body', 'checkout_session', 'line_items', String(index), 'price'],
        msg: `price_not_found: ${id}`,
        type: 'price_not_found',
      })),
      {
        loc: ['body', 'checkout_session', 'line_items', '3', 'price'],
        msg: 'price_not_found',
        type: 'price_not_found',
      },
      {
        loc: ['body', 'checkout_session', 'shipping_options', 'shipping_rate_id'],
        msg: `shipping_rate_not_found: ${rate.shippingRateId}`,
        type: 'shipping_rate_not_found',
      },
    ]);
    const items = resolve(shop, { lines: [ofPrice('x')], bodyPath: ['body', 'subscription', 'items'] });
    expect(await refusalOf(items)).toEqual([['body.subscription.items.0.price', 'price_not_found']]);
  });

  it('takes a product’s one active price; none or several are price_required [D13.3]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const place = 'body.checkout_session.line_items.0.product';
    expect(await refusalOf(resolve(shop, { lines: [ofProduct(productId)] }))).toEqual([[place, 'price_required']]);
    const only = await makePrice(shop, productId);
    await makePrice(shop, productId, { active: false });
    expect((await resolve(shop, { lines: [ofProduct(productId)] })).lines[0]?.price?.priceId).toBe(only);
    await makePrice(shop, productId);
    expect(await refusalOf(resolve(shop, { lines: [ofProduct(productId)] }))).toEqual([[place, 'price_required']]);
    await on.gateway.updateProduct({ id: productId, active: false }, shop);
    expect(await refusalOf(resolve(shop, { lines: [ofProduct(productId)] }))).toEqual([[place, 'product_not_found']]);
    expect(await refusalOf(resolve(on.account(), { lines: [ofProduct(productId)] }))).toEqual([
      [place, 'product_not_found'],
    ]);
  });
});

describe('an inline line', () => {
  const owner = { case: 'productData', value: { name: 'Inline', hsaFsaEligibility: 'vision' } };

  it('makes its product and price once for a session and line, whatever is repeated', async () => {
    const shop = on.account();
    const existing = await makeProduct(shop);
    const request = {
      sessionId: newId('checkout_session'),
      lines: [ofData(700n, owner), ofData(800n, owner), ofData(900n, { case: 'productId', value: existing })],
    };
    const carts = await Promise.all(Array.from({ length: 20 }, () => resolve(shop, request)));
    const idsOf = (cart: (typeof carts)[number]) => cart.lines.map(({ price }) => price?.priceId);
    expect(new Set(carts.map((cart) => idsOf(cart).join())).size).toBe(1);
    expect(carts[0]?.lines.map(({ price }) => price?.unitAmountCents)).toEqual([700n, 800n, 900n]);
    expect(carts[0]?.lines[0]?.eligibility).toMatchObject({ hsaFsaEligibility: 'vision', rule: 'product' });
    expect(carts[0]?.lines[2]?.product?.productId).toBe(existing);
    const other = await resolve(shop, { ...request, sessionId: newId('checkout_session') });
    expect(idsOf(other)).not.toEqual(idsOf(carts[0] as (typeof carts)[number]));
  });

  it('is in no list and not for sale until the session commits, and then it is', async () => {
    const shop = on.account();
    const sessionId = newId('checkout_session');
    const lines = [ofData(700n, owner)];
    const made = (await resolve(shop, { sessionId, lines })).lines[0]?.price;
    const priceId = made?.priceId ?? '';
    expect(made?.active).toBe(false);
    const seen = async () => [
      (await on.gateway.listPrices({}, shop)).prices.length,
      (await on.gateway.listPrices({ active: false }, shop)).prices.length,
      (await on.gateway.listProducts({}, shop)).products.length,
    ];
    expect(await seen()).toEqual([0, 0, 0]);
    const sold = resolve(shop, { lines: [ofPrice(priceId)] });
    expect(await refusalOf(sold)).toEqual([['body.checkout_session.line_items.0.price', 'price_not_found']]);
    await on.checkout.activateInline({ sessionId }, shop.atCheckout);
    await on.checkout.activateInline({ sessionId }, shop.atCheckout);
    expect(await seen()).toEqual([1, 0, 1]);
    expect((await on.gateway.getPrice({ id: priceId }, shop)).active).toBe(true);
    expect((await resolve(shop, { lines: [ofPrice(priceId)] })).lines).toHaveLength(1);
  });

  it('of an existing product is in no list of its prices either, archived ones included, until the session commits', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    await resolve(shop, { lines: [ofData(5n, { case: 'productId', value: productId })] });
    for (const active of [undefined, true, false]) {
      expect((await on.gateway.listPrices({ active }, shop)).prices).toEqual([]);
      expect((await on.gateway.listPrices({ active, productId }, shop)).prices).toEqual([]);
    }
  });

  it('of an existing product leaves the product’s own price the one that a product line takes', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const own = await makePrice(shop, productId);
    const sessionId = newId('checkout_session');
    await resolve(shop, { sessionId, lines: [ofData(5n, { case: 'productId', value: productId })] });
    await on.checkout.activateInline({ sessionId }, shop.atCheckout);
    expect((await resolve(shop, { lines: [ofProduct(productId)] })).lines[0]?.price?.priceId).toBe(own);
  });

  it('that is wrong is refused at its place, and nothing of the cart is left behind', async () => {
    const shop = on.account();
    const place = 'body.checkout_session.line_items.1.price_data';
    const archived = await makeProduct(shop, { active: false });
    const cases = [
      [ofData(1n, { case: 'productId', value: archived }), `${place}.product`, 'product_not_found'],
      [ofData(-1n, owner), `${place}.unit_amount`, 'amount_out_of_range'],
      [ofData(1n, { case: 'productId', value: newId('product') }), `${place}.product`, 'product_not_found'],
      [
        ofData(1n, { case: 'productData', value: { components: ['x'] } }),
        `${place}.product_data.components.0`,
        'product_component_not_found',
      ],
      [
        ofData(1n, { case: 'productData', value: { hsaFsaEligibility: 'x' } }),
        `${place}.product_data.hsa_fsa_eligibility`,
        'invalid_value',
      ],
      [ofData(1n, { case: undefined }), `${place}.product`, 'missing'],
    ] as const;
    for (const [line, loc, type] of cases) {
      expect(await refusalOf(resolve(shop, { lines: [ofData(1n, owner), line] }))).toEqual([[loc, type]]);
    }
    const [left] = await on.place.admin<{ products: number; prices: number; lines: number }>(
      `select (select count(*)::int from catalog.products where account_id = $1) as products,
         (select count(*)::int from catalog.prices where account_id = $1) as prices,
         (select count(*)::int from catalog.inline_lines where account_id = $1) as lines`,
      [shop.accountId],
    );
    expect(left).toEqual({ products: 1, prices: 0, lines: 0 });
  });
});

describe('a cart’s discount', () => {
  const discounts = (...sources: object[]) => sources.map((source) => ({ source })) as never;

  it('is resolved by coupon, promo code, typed code and coupon_data, each with its coupon', async () => {
    const shop = on.account();
    const lines = [ofPrice(await makePrice(shop, await makeProduct(shop)))];
    const coupon = await on.gateway.createCoupon({ amountOffCents: 5n }, shop);
    const code = await on.gateway.createPromoCode({ couponId: coupon.couponId, code: 'Save5' }, shop);
    const sessionId = newId('checkout_session');
    const request = {
      sessionId,
      lines,
      discounts: discounts(
        { case: 'couponId', value: coupon.couponId },
        { case: 'couponId', value: coupon.couponId },
        { case: 'promoCodeId', value: code.promoCodeId },
        { case: 'promoCode', value: ' save5' },
        { case: 'couponData', value: { name: 'rounding adjustment', amountOffCents: 1n } },
      ),
    };
    const cart = await resolve(shop, request);
    expect(cart.discounts.map(({ promoCodeId }) => promoCodeId)).toEqual([
      undefined,
      undefined,
      code.promoCodeId,
      code.promoCodeId,
      undefined,
    ]);
    const inline = cart.discounts[4]?.coupon;
    expect(inline).toMatchObject({ name: 'rounding adjustment', amountOffCents: 1n });
    expect((await resolve(shop, request)).discounts[4]?.coupon?.couponId).toBe(inline?.couponId);
    expect((await on.gateway.listCoupons({}, shop)).coupons.map(({ couponId }) => couponId)).toEqual([coupon.couponId]);
    expect(await on.gateway.getCoupon({ id: inline?.couponId ?? '' }, shop)).toEqual(inline);
    const borrowed = resolve(shop, {
      lines,
      discounts: discounts({ case: 'couponId', value: inline?.couponId ?? '' }),
    });
    expect(await refusalOf(borrowed)).toEqual([['body.checkout_session.discounts.0.coupon_id', 'coupon_not_found']]);
    const spread = on.gateway.createPromoCode({ couponId: inline?.couponId ?? '', code: 'SPREAD' }, shop);
    expect(await refusalOf(spread)).toEqual([['body.promo_code.coupon_id', 'coupon_not_found']]);
  });

  it('that cannot be used is refused at its place [D14.14]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const lines = [ofPrice(await makePrice(shop, productId))];
    const elsewhere = await makeProduct(shop);
    const restricted = await on.gateway.createCoupon(
      { amountOffCents: 5n, appliesTo: { products: [elsewhere] } },
      shop,
    );
    const deleted = await on.gateway.createCoupon({ amountOffCents: 5n }, shop);
    await on.gateway.deleteCoupon({ id: deleted.couponId }, shop);
    const general = await on.gateway.createCoupon({ amountOffCents: 5n }, shop);
    const codeOf = (fields: object) =>
      on.gateway.createPromoCode({ couponId: general.couponId, code: newId('promo_code'), ...fields }, shop);
    const expired = await codeOf({ expiresAtMs: 5n });
    const personal = await codeOf({ customerId: newId('customer') });
    const inactive = await codeOf({ active: false });
    const cases = [
      [{ case: 'couponId', value: newId('coupon') }, 'coupon_id', 'coupon_not_found'],
      [{ case: 'couponId', value: deleted.couponId }, 'coupon_id', 'coupon_not_applicable'],
      [{ case: 'couponId', value: restricted.couponId }, 'coupon_id', 'coupon_not_applicable'],
      [{ case: 'promoCodeId', value: newId('promo_code') }, 'promo_code_id', 'promo_code_not_found'],
      [{ case: 'promoCodeId', value: expired.promoCodeId }, 'promo_code_id', 'promo_code_invalid'],
      [{ case: 'promoCodeId', value: personal.promoCodeId }, 'promo_code_id', 'promo_code_invalid'],
      [{ case: 'promoCode', value: inactive.code }, 'promo_code', 'promo_code_invalid'],
      [{ case: 'promoCode', value: 'nobody knows' }, 'promo_code', 'promo_code_invalid'],
      [
        { case: 'couponData', value: { amountOffCents: 1n, appliesTo: { products: [elsewhere] } } },
        'coupon_data',
        'coupon_not_applicable',
      ],
      [
        { case: 'couponData', value: { amountOffCents: 1n, appliesTo: { prices: [newId('price')] } } },
        'coupon_data.applies_to.prices.0',
        'price_not_found',
      ],
      [{ case: 'couponData', value: {} }, 'coupon_data.amount_off', 'invalid_value'],
    ] as const;
    for (const [source, field, type] of cases) {
      const refused = resolve(shop, { lines, discounts: discounts(source) });
      expect(await refusalOf(refused)).toEqual([[`body.checkout_session.discounts.0.${field}`, type]]);
    }
    const ofNothing = resolve(shop, { lines: [], discounts: discounts({ case: 'couponId', value: general.couponId }) });
    expect(await refusalOf(ofNothing)).toEqual([
      ['body.checkout_session.discounts.0.coupon_id', 'coupon_not_applicable'],
    ]);
    const own = resolve(shop, {
      lines,
      discounts: discounts({ case: 'promoCodeId', value: personal.promoCodeId }),
      customerId: personal.customerId ?? '',
    });
    expect((await own).discounts).toHaveLength(1);
    const applied = resolve(shop, {
      lines: [...lines, ofPrice(await makePrice(shop, elsewhere))],
      discounts: discounts({ case: 'couponId', value: restricted.couponId }),
    });
    expect((await applied).discounts[0]?.coupon?.couponId).toBe(restricted.couponId);
  });

  it('that is restricted to a price applies to that price alone, not to its product’s others', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const [discounted, other] = [await makePrice(shop, productId), await makePrice(shop, productId)];
    const appliesTo = { prices: [discounted] };
    const { couponId } = await on.gateway.createCoupon({ amountOffCents: 5n, appliesTo }, shop);
    const ofCoupon = discounts({ case: 'couponId', value: couponId });
    const applied = await resolve(shop, { lines: [ofPrice(other), ofPrice(discounted)], discounts: ofCoupon });
    expect(applied.discounts[0]?.coupon?.couponId).toBe(couponId);
    expect(await refusalOf(resolve(shop, { lines: [ofPrice(other)], discounts: ofCoupon }))).toEqual([
      ['body.checkout_session.discounts.0.coupon_id', 'coupon_not_applicable'],
    ]);
  });

  it('by a code ends at the moment that the code expires, by the session’s own time', async () => {
    const shop = on.account();
    const lines = [ofPrice(await makePrice(shop, await makeProduct(shop)))];
    const { couponId } = await on.gateway.createCoupon({ amountOffCents: 5n }, shop);
    const code = await on.gateway.createPromoCode({ couponId, code: 'UNTIL', expiresAtMs: 1_000_000n }, shop);
    for (const source of [
      { case: 'promoCodeId', value: code.promoCodeId },
      { case: 'promoCode', value: 'until' },
    ] as const) {
      const at = (atMs: bigint) => resolve(shop, { lines, discounts: discounts(source), atMs });
      expect((await at(999_999n)).discounts).toHaveLength(1);
      const place = `body.checkout_session.discounts.0.${source.case === 'promoCode' ? 'promo_code' : 'promo_code_id'}`;
      expect(await refusalOf(at(1_000_000n))).toEqual([[place, 'promo_code_invalid']]);
    }
  });
});
