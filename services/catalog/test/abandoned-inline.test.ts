import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeAbandonedInline } from '../src/jobs/remove-abandoned-inline.ts';
import { type Fixture, openFixture, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const day = 86_400_000;
const runAfter = (days: number) => {
  const clock = { now: () => new Date(Date.now() + days * day) };
  return removeAbandonedInline({ database: on.database, clock }).run(new AbortController().signal);
};

const resolve = (shop: Shop, sessionId: string, owner: object) =>
  on.checkout.resolveCart(
    {
      sessionId,
      lines: [{ item: { case: 'priceData', value: { unitAmountCents: 5n, owner } }, quantity: 1n }],
    } as never,
    shop.atCheckout,
  );
const inline = { case: 'productData', value: { name: 'Inline', metadata: { a: '1', b: '2' } } };

const tablesOfLines = ['prices', 'products', 'inline_lines', 'product_metadata'];
const tablesOfCoupons = ['coupons', 'inline_coupons'];
async function countsOf({ accountId }: Shop, tables = tablesOfLines): Promise<number[]> {
  const counts = tables.map(
    (table) => `(select count(*)::int from catalog.${table} where account_id = $1) as ${table}`,
  );
  const [row] = await on.place.admin<Record<string, number>>(`select ${counts.join(', ')}`, [accountId]);
  return tables.map((table) => row?.[table] ?? -1);
}

describe('what a line made of a session that never came to be', () => {
  it('is removed after forty-five days, whole, and not before [D14.47]', async () => {
    const shop = on.account();
    await resolve(shop, newId('checkout_session'), inline);
    expect(await countsOf(shop)).toEqual([1, 1, 1, 2]);
    await runAfter(44);
    expect(await countsOf(shop)).toEqual([1, 1, 1, 2]);
    await runAfter(46);
    expect(await countsOf(shop)).toEqual([0, 0, 0, 0]);
  });

  it('leaves a product alone that was there before', async () => {
    const shop = on.account();
    const { productId } = await on.gateway.createProduct({ product: { name: 'Own' } }, shop);
    await resolve(shop, newId('checkout_session'), { case: 'productId', value: productId });
    await runAfter(46);
    expect(await countsOf(shop)).toEqual([0, 1, 0, 0]);
    expect((await on.gateway.getProduct({ id: productId }, shop)).active).toBe(true);
  });

  it('stays when the session came to be, also when that becomes known at this moment', async () => {
    const [early, late] = [on.account(), on.account()];
    const [first, second] = [newId('checkout_session'), newId('checkout_session')];
    const made = await resolve(early, first, inline);
    await resolve(late, second, inline);
    await on.checkout.activateInline({ sessionId: first }, early.atCheckout);
    await Promise.all([runAfter(46), on.checkout.activateInline({ sessionId: second }, late.atCheckout), runAfter(46)]);
    expect(await countsOf(early)).toEqual([1, 1, 1, 2]);
    const id = made.lines[0]?.price?.priceId ?? '';
    expect((await on.gateway.getPrice({ id }, early)).active).toBe(true);
    // All of it or none of it, whoever came first.
    expect([
      [1, 1, 1, 2],
      [0, 0, 0, 0],
    ]).toContainEqual(await countsOf(late));
  });

  it('is made again by the same session and line once it was removed', async () => {
    const shop = on.account();
    const sessionId = newId('checkout_session');
    const first = await resolve(shop, sessionId, inline);
    await runAfter(46);
    const again = await resolve(shop, sessionId, inline);
    expect(again.lines[0]?.price?.priceId).not.toBe(first.lines[0]?.price?.priceId);
    await on.checkout.activateInline({ sessionId }, shop.atCheckout);
    expect((await on.gateway.listPrices({}, shop)).prices).toHaveLength(1);
  });
});

describe('a coupon of a session that never came to be', () => {
  const bring = async (shop: Shop, sessionId: string, { activatesCoupons = true } = {}) => {
    const discounts = [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }];
    const product = { case: 'productData', value: { name: 'Sold' } } as const;
    const { priceId } = await on.gateway.createPrice({ unitAmountCents: 5n, owner: product }, shop);
    const lines = [{ item: { case: 'priceId', value: priceId }, quantity: 1n }];
    const request = { sessionId, lines, discounts, activatesCoupons };
    const cart = await on.checkout.resolveCart(request as never, shop.atCheckout);
    return cart.discounts[0]?.coupon?.couponId ?? '';
  };
  const couponsOf = (shop: Shop) => countsOf(shop, tablesOfCoupons);

  it('is removed after forty-five days and not before, and is made again by the same session [D14.47]', async () => {
    const shop = on.account();
    const sessionId = newId('checkout_session');
    const first = await bring(shop, sessionId);
    await runAfter(44);
    expect(await bring(shop, sessionId)).toBe(first);
    await runAfter(46);
    expect(await couponsOf(shop)).toEqual([0, 0]);
    expect(await bring(shop, sessionId)).not.toBe(first);
  });

  it('is removed also when the cart that brought it was refused', async () => {
    const shop = on.account();
    const discounts = [{ source: { case: 'couponData', value: { amountOffCents: 1n } } }];
    const lines = [{ item: { case: 'priceId', value: newId('price') }, quantity: 1n }];
    const cart = { sessionId: newId('checkout_session'), lines, discounts, activatesCoupons: true };
    await expect(on.checkout.resolveCart(cart as never, shop.atCheckout)).rejects.toThrow();
    expect(await couponsOf(shop)).toEqual([1, 1]);
    await runAfter(46);
    expect(await couponsOf(shop)).toEqual([0, 0]);
  });

  it('stays when the session came to be, also when that becomes known at this moment', async () => {
    const [early, late] = [on.account(), on.account()];
    const [first, second] = [newId('checkout_session'), newId('checkout_session')];
    const id = await bring(early, first);
    await bring(late, second);
    await on.checkout.activateInline({ sessionId: first }, early.atCheckout);
    await Promise.all([runAfter(46), on.checkout.activateInline({ sessionId: second }, late.atCheckout), runAfter(46)]);
    expect((await on.gateway.getCoupon({ id }, early)).valid).toBe(true);
    expect(await couponsOf(early)).toEqual([1, 1]);
    // Both rows or none, whoever came first.
    expect([
      [1, 1],
      [0, 0],
    ]).toContainEqual(await couponsOf(late));
  });

  it('stays when it was ever counted, whatever became of that [D14.47]', async () => {
    const shop = on.account();
    for (const end of ['reserved', 'released', 'final']) {
      const sessionId = newId('checkout_session');
      const couponId = await bring(shop, sessionId);
      await on.checkout.reserveRedemption({ sessionId, couponIds: [couponId] }, shop.atCheckout);
      if (end === 'released') await on.checkout.releaseRedemption({ sessionId }, shop.atCheckout);
      if (end === 'final') await on.checkout.finalizeRedemption({ sessionId }, shop.atCheckout);
    }
    await runAfter(46);
    expect(await couponsOf(shop)).toEqual([3, 3]);
  });

  it('stays when checkout does not say whether its session was created', async () => {
    const shop = on.account();
    await bring(shop, newId('checkout_session'), { activatesCoupons: false });
    await runAfter(46);
    expect(await couponsOf(shop)).toEqual([1, 1]);
  });

  it('is never one that the partner made', async () => {
    const shop = on.account();
    const { couponId } = await on.gateway.createCoupon({ amountOffCents: 5n }, shop);
    await on.gateway.createPromoCode({ couponId, code: 'KEPT' }, shop);
    await runAfter(46);
    expect(await couponsOf(shop)).toEqual([1, 0]);
  });
});
