import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { largestLimit, mostPassedOver } from '../src/store/page.ts';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';
import { openPropagation, type Propagation } from './propagation.ts';

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
