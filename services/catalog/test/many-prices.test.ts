import { scoped, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeAbandonedInline } from '../src/jobs/remove-abandoned-inline.ts';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';
import { count, hidden, idOf, openPropagation, openShopOfMany, type Propagation, whole } from './propagation.ts';

let on: Fixture;
let many: Propagation;
beforeAll(async () => {
  on = await openFixture();
  many = openPropagation(on);
});
afterAll(() => on.close());

const archiveAll = scoped(
  'test.archive_all',
  'update prices set active = false where account_id = $1 and test_mode = $2 and price_id = any($3::text[])',
);

describe('the metadata of prices', () => {
  it('follows an update of thousands in one statement, on a connection that has updated one before', async () => {
    const shop = on.account();
    const scope = { accountId: shop.accountId, testMode: true };
    const metadata = "jsonb_build_object('a', 'x', 'b', (n % 10)::text, 'c', n::text)";
    await many.givePrices(shop, await many.makeProduct(shop), { last: count, metadata });
    const one = on.place.open('catalog', { max: 1 });
    await withTx(one, scope, (tx) => tx.execute(archiveAll, scope, [[idOf(1)]]));
    const ids = Array.from({ length: count - 1 }, (_, index) => idOf(index + 2));
    await withTx(one, scope, (tx) => tx.execute(archiveAll, scope, [ids]));
    const found = await on.gateway.listPrices({ active: false, metadata: { a: 'x', b: '3' } }, shop);
    expect(found.prices[0]?.priceId).toBe(idOf(1_593));
    expect((await on.gateway.listPrices({ metadata: { a: 'x' } }, shop)).prices).toEqual([]);
    const pairs = await on.place.admin(
      'select listing, count(*)::int as count from catalog.price_metadata where account_id = $1 group by 1',
      [shop.accountId],
    );
    expect(pairs).toEqual([{ listing: 'archived', count: 3 * count }]);
  });
});

const price = (number: number) => ({ case: 'priceId', value: idOf(number) });
const refused = [['body.checkout_session.line_items.0.price', 'price_not_found']];

/** The numbers of the prices that a list has. */
async function listed(shop: Shop, request: object): Promise<number[]> {
  const { prices } = await on.gateway.listPrices({ page: { limit: 5n }, ...request }, shop);
  return prices.map(({ priceId }) => Number(priceId.slice(-6)));
}

const filters = (productId: string) => [
  {},
  { productId },
  { metadata: { a: 'x' } },
  { metadata: { a: 'x', b: '3' } },
  { productId, metadata: { a: 'x' } },
  { productId, metadata: { b: '3', a: 'x' } },
  { lookupKeys: ['the key'] },
];

describe('a product of many prices', () => {
  beforeEach(() => turnFailpointsOn());
  afterEach(() => turnFailpointsOff());

  it('is archived without a write to a price: its prices are in no list and not for sale at once, and the job hides them [D14.341, PRICE-11]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await on.gateway.updatePrice({ id: idOf(5), lookupKey: 'the key' }, shop);
    const other = { case: 'productId', value: await many.makeProduct(shop) } as const;
    const facts = { unitAmountCents: 1n, owner: other, metadata: { a: 'x', b: '3' } };
    const kept = await on.gateway.createPrice(facts, shop);
    expect(await many.standing(shop)).toEqual({ ...whole, active: whole.active + 1 });
    await many.setActive(shop, productId, false);
    expect(await many.standing(shop)).toMatchObject({ stale: count, waiting: 1 });
    const isHidden = async () => {
      for (const filter of filters(productId)) {
        const { prices } = await on.gateway.listPrices(filter, shop);
        const hasKept = !('productId' in filter || 'lookupKeys' in filter);
        expect(prices.map(({ priceId }) => priceId)).toEqual(hasKept ? [kept.priceId] : []);
        expect(await listed(shop, { ...filter, active: false })).toEqual([]);
      }
      expect(await refusalOf(many.resolve(shop, price(5)))).toEqual(refused);
      expect(await refusalOf(many.resolve(shop, { case: 'productId', value: productId }))).toEqual([
        ['body.checkout_session.line_items.0.product', 'product_not_found'],
      ]);
    };
    await isHidden();
    expect(await many.run()).toBe(true);
    await isHidden();
    expect(await many.standing(shop)).toMatchObject({ stale: count - 500, waiting: 1 });
    expect(await many.runToEnd()).toBe(3);
    await isHidden();
    expect(await many.standing(shop)).toEqual({ ...hidden, active: 1 });
  });

  it('is for sale at once when it comes back, and its prices are listed again, the newest first [D14.341]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    await many.runToEnd();
    await many.setActive(shop, productId, true);
    expect((await many.resolve(shop, price(5))).lines[0]?.price?.priceId).toBe(idOf(5));
    expect(await refusalOf(many.resolve(shop, price(7)))).toEqual(refused);
    const byProduct = { case: 'productId', value: productId };
    expect(await refusalOf(many.resolve(shop, byProduct))).toEqual([
      ['body.checkout_session.line_items.0.product', 'price_required'],
    ]);
    await many.run();
    const newest = [1_600, 1_599, 1_598, 1_597, 1_595];
    expect(await listed(shop, { productId })).toEqual(newest);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(whole);
    for (const filter of filters(productId).slice(0, -1)) {
      const isOf = (n: number) => !(filter.metadata !== undefined && 'b' in filter.metadata) || n % 20 === 3;
      const numbers = Array.from({ length: count }, (_, index) => count - index).filter(isOf);
      expect(await listed(shop, filter)).toEqual(numbers.filter((n) => n % 7 > 0).slice(0, 5));
      expect(await listed(shop, { ...filter, active: false })).toEqual(numbers.filter((n) => n % 7 === 0).slice(0, 5));
    }
  });

  it('stands for the one price of the partner while it comes back, not for those of carts [D14.341, D13.3]', async () => {
    const shop = on.account();
    const productId = await many.makeProduct(shop);
    await many.givePrices(shop, productId, { last: 1 });
    await many.givePrices(shop, productId, { first: 2, last: count, inline: true });
    await many.setActive(shop, productId, false);
    await many.runToEnd();
    await many.setActive(shop, productId, true);
    const sold = async () =>
      (await many.resolve(shop, { case: 'productId', value: productId })).lines[0]?.price?.priceId;
    expect(await sold()).toBe(idOf(1));
    await many.run();
    expect(await many.standing(shop)).toMatchObject({ active: 500, waiting: 1 });
    expect(await sold()).toBe(idOf(1));
  });

  it('ends as it was set last, however often and when it is set meanwhile [D14.341]', async () => {
    for (const runs of [1, 4]) {
      const { shop, productId } = await openShopOfMany(on, many);
      await many.setActive(shop, productId, false);
      for (let ran = 0; ran < runs; ran += 1) await many.run();
      await many.setActive(shop, productId, true);
      if (runs % 2 === 1) await many.run();
      await many.setActive(shop, productId, false);
      await many.run();
      await many.setActive(shop, productId, true);
      await many.runToEnd();
      expect(await many.standing(shop)).toEqual(whole);
    }
  });

  it('has at most 2,000 pairs of its prices written in a transaction [D14.342]', async () => {
    const shop = on.account();
    const productId = await many.makeProduct(shop);
    const metadata = "(select jsonb_object_agg('k' || k, n || ' ' || k) from generate_series(1, 50) k)";
    await many.givePrices(shop, productId, { last: 130, metadata });
    await many.setActive(shop, productId, false);
    const stale: number[] = [];
    for (let isMore = true; isMore; ) {
      isMore = await many.run();
      stale.push((await many.standing(shop)).stale);
    }
    expect(stale).toEqual([90, 50, 10, 0]);
    const pairs = await on.place.admin(
      'select listing, count(*)::int as count from catalog.price_metadata where account_id = $1 group by 1',
      [shop.accountId],
    );
    expect(pairs).toEqual([{ listing: 'hidden', count: 130 * 50 }]);
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('goes on where a run that failed had begun [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    await many.run();
    const before = await many.standing(shop);
    armFailpoint('propagate.before_commit', { action: 'error' });
    await expect(many.run()).rejects.toThrow('propagate.before_commit');
    expect(await many.standing(shop)).toEqual(before);
    expect(await listed(shop, { metadata: { a: 'x' } })).toEqual([]);
    expect(await many.runToEnd()).toBe(3);
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('hides prices that are created, changed, put up for sale or deleted while its prices follow [D14.341, PRICE-11]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const owner = { case: 'productId', value: productId } as const;
    const sessions = Array.from({ length: 3 }, () => newId('checkout_session'));
    for (const sessionId of sessions)
      await many.resolve(shop, { case: 'priceData', value: { unitAmountCents: 5n, owner } }, sessionId);
    const activate = (sessionId = '') => on.checkout.activateInline({ sessionId }, shop.atCheckout);
    await many.setActive(shop, productId, false);
    await activate(sessions[0]);
    await many.run();
    await activate(sessions[1]);
    await on.gateway.updatePrice({ id: idOf(7), active: true }, shop);
    await on.gateway.updatePrice({ id: idOf(8), metadata: { entries: { c: 'y' } } }, shop);
    await on.gateway.createPrice({ unitAmountCents: 1n, owner }, shop);
    expect(await listed(shop, { productId })).toEqual([]);
    expect(await listed(shop, { metadata: { c: 'y' } })).toEqual([]);
    const clock = { now: () => new Date(Date.now() + 46 * 86_400_000) };
    await removeAbandonedInline({ database: on.database, clock }).run(new AbortController().signal);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
    await many.setActive(shop, productId, true);
    await many.runToEnd();
    // With price 7, the new one, and those of two sessions.
    expect(await many.standing(shop)).toEqual({ ...whole, active: whole.active + 4, archived: whole.archived - 1 });
    expect(await listed(shop, { metadata: { c: 'y' } })).toEqual([8]);
  });

  it('gives its prices its class at once, in what is read, listed, changed and sold [D14.341, PRICE-5, D14.24]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'vision' }, shop);
    const isVision = async () => {
      expect((await on.gateway.getPrice({ id: idOf(5) }, shop)).hsaFsaEligibility).toBe('vision');
      const { prices } = await on.gateway.listPrices({ productId }, shop);
      expect(new Set(prices.map(({ hsaFsaEligibility }) => hsaFsaEligibility))).toEqual(new Set(['vision']));
      const { lines } = await on.checkout.resolveCart(
        { sessionId: newId('checkout_session'), lines: [{ item: price(5), quantity: 1n }] } as never,
        shop.atCheckout,
      );
      expect(lines[0]?.price?.hsaFsaEligibility).toBe('vision');
      expect(lines[0]?.eligibility?.hsaFsaEligibility).toBe('vision');
    };
    expect(await many.standing(shop)).toMatchObject({ stale: count, waiting: 1 });
    await isVision();
    // Sent back unchanged, it keeps following its product.
    await on.gateway.updatePrice({ id: idOf(5), hsaFsaEligibility: 'vision' }, shop);
    await many.runToEnd();
    await isVision();
    expect(await many.standing(shop)).toEqual(whole);
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'service' }, shop);
    expect((await on.gateway.getPrice({ id: idOf(5) }, shop)).hsaFsaEligibility).toBe('service');
  });

  it('has its prices change in the request if they are 100, as they are of most products [D14.341]', async () => {
    const shop = on.account();
    const productId = await many.makeProduct(shop);
    await many.givePrices(shop, productId, { last: 100 });
    await many.setActive(shop, productId, false);
    expect(await many.standing(shop)).toEqual(hidden);
    await many.setActive(shop, productId, true);
    expect(await many.standing(shop)).toEqual({ active: 100, archived: 0, stale: 0, waiting: 0 });
    await many.givePrices(shop, productId, { first: 101, last: 101 });
    await many.setActive(shop, productId, false);
    expect(await many.standing(shop)).toMatchObject({ stale: 101, waiting: 1 });
  });
});
