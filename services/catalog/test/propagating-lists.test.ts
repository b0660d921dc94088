import { openSession } from '@eligo/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largestLimit } from '../src/store/page-cut.ts';
import { mostPassedOver } from '../src/store/sieved-page.ts';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';
import { idOf, openPropagation, type Propagation } from './propagation.ts';

let on: Fixture;
let many: Propagation;
beforeAll(async () => {
  on = await openFixture();
  many = openPropagation(on);
});
afterAll(() => on.close());

const filters = [{}, { metadata: { a: 'x' } }];
const metadata = "jsonb_build_object('a', 'x')";

/** How many rows of a list a page looks at. */
const walk = largestLimit + 1 + mostPassedOver;

async function list(shop: Shop, limit: number, filter: object) {
  const { prices, hasMore } = await on.gateway.listPrices({ page: { limit: BigInt(limit) }, ...filter }, shop);
  return { numbers: prices.map(({ priceId }) => Number(priceId.slice(-6))), hasMore };
}

describe('a list, while the prices of an archived product follow it', () => {
  it('passes over 20,000 of them: a page that they hide is 503 until the job has reached them [D14.341]', async () => {
    const shop = on.account();
    const productId = await many.makeProduct(shop);
    await many.givePrices(shop, productId, { last: walk + 1, metadata });
    await many.setActive(shop, productId, false);
    for (const filter of filters) {
      expect(await refusalOf(list(shop, 5, filter))).toBe('service_unavailable');
      expect(await list(shop, 5, { ...filter, productId })).toEqual({ numbers: [], hasMore: false });
    }
    await many.run();
    for (const filter of filters) expect(await list(shop, 5, filter)).toEqual({ numbers: [], hasMore: false });
  });

  it('is whole where it ends with the last price that a page may look at, and a full page that looked at as many says that there may be more [D14.341]', async () => {
    const shop = on.account();
    const productId = await many.makeProduct(shop);
    await many.givePrices(shop, productId, { first: 10, last: walk + 4, metadata });
    const kept = await many.makeProduct(shop);
    const newest = Array.from({ length: 5 }, (_, index) => walk + 10 - index);
    await many.givePrices(shop, kept, { first: walk + 6, last: walk + 10, metadata });
    await many.setActive(shop, productId, false);
    for (const filter of filters) {
      for (const limit of [5, 6]) expect(await list(shop, limit, filter)).toEqual({ numbers: newest, hasMore: false });
      expect(await list(shop, 4, filter)).toEqual({ numbers: newest.slice(0, 4), hasMore: true });
    }
    // The oldest of all, behind what a page looks at.
    await many.givePrices(shop, kept, { first: 1, last: 1, metadata });
    for (const filter of filters) {
      for (const limit of [4, 5])
        expect(await list(shop, limit, filter)).toEqual({ numbers: newest.slice(0, limit), hasMore: true });
      expect(await refusalOf(list(shop, 6, filter))).toBe('service_unavailable');
    }
  });
});

it('the functions that find by pairs ask the product of each match only while one propagates, and the one product that they are asked for [D14.341]', async () => {
  const shop = on.account();
  const productId = await many.makeProduct(shop);
  const other = await many.makeProduct(shop);
  await many.givePrices(shop, productId, { last: 2, metadata });
  // Only so can an archived product have a price that is listed while none propagates.
  await on.place.admin(
    `set local session_replication_role = replica; update catalog.products set active = false where product_id = '${productId}'`,
  );
  const session = await openSession(on.database, 'finders');
  try {
    const found = async () => {
      const context = "select set_config('eligo.account_id', $1, false), set_config('eligo.test_mode', 'true', false)";
      await session.query(context, [shop.accountId]);
      const pairs = `'{"a": "x"}', 'first', '', 10, 0`;
      const ids = await session.query<{ id: string }>(
        `select find_prices_by_pairs($1, true, 'active', ${pairs}) as id`,
        [shop.accountId],
      );
      const ofProduct = await session.query(
        `select find_product_prices_by_pairs($1, true, 'active', $2, ${pairs}) as id`,
        [shop.accountId, productId],
      );
      return [ids.map(({ id }) => id), ofProduct];
    };
    expect(await found()).toEqual([[idOf(2), idOf(1)], []]);
    await on.place.admin(
      'insert into catalog.propagating_products (account_id, test_mode, product_id) values ($1, true, $2)',
      [shop.accountId, other],
    );
    expect(await found()).toEqual([[], []]);
    await on.place.admin(
      `set local session_replication_role = replica; update catalog.products set active = true where product_id = '${productId}'`,
    );
    expect(await found()).toEqual([
      [idOf(2), idOf(1)],
      [{ id: idOf(2) }, { id: idOf(1) }],
    ]);
  } finally {
    await session.close();
  }
});
