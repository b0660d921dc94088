import { scoped, withTx } from '@eligo/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const makeProduct = async (shop: Shop) => (await on.gateway.createProduct({ product: { name: 'p' } }, shop)).productId;

const idOf = (number: number) => `fprice_${String(number).padStart(26, '0')}`;

/** Gives the product so many active prices, numbered from one. `metadata` is SQL of the pairs of price `n`. */
async function givePrices(shop: Shop, productId: string, count: number, metadata = "'{}'"): Promise<void> {
  await on.place.admin(
    `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
       unit_amount_cents, metadata, created_at, updated_at)
     select $1, true, 'fprice_' || lpad(n::text, 26, '0'), $2, true, '', n, ${metadata}, now(), now()
     from generate_series(1, ${count}) n`,
    [shop.accountId, productId],
  );
}

const archiveAll = scoped(
  'test.archive_all',
  'update prices set active = false where account_id = $1 and test_mode = $2 and price_id = any($3::text[])',
);

describe('the metadata of prices', () => {
  it('follows an update of thousands in one statement, on a connection that has updated one before', async () => {
    const shop = on.account();
    const scope = { accountId: shop.accountId, testMode: true };
    const count = 2_500;
    await givePrices(
      shop,
      await makeProduct(shop),
      count,
      "jsonb_build_object('a', 'x', 'b', (n % 10)::text, 'c', n::text)",
    );
    const one = on.place.open('catalog', { max: 1 });
    await withTx(one, scope, (tx) => tx.execute(archiveAll, scope, [[idOf(1)]]));
    const ids = Array.from({ length: count - 1 }, (_, index) => idOf(index + 2));
    await withTx(one, scope, (tx) => tx.execute(archiveAll, scope, [ids]));
    const found = await on.gateway.listPrices({ active: false, metadata: { a: 'x', b: '3' } }, shop);
    expect(found.prices[0]?.priceId).toBe(idOf(2_493));
    expect((await on.gateway.listPrices({ metadata: { a: 'x' } }, shop)).prices).toEqual([]);
    const pairs = await on.place.admin(
      'select listing, count(*)::int as count from catalog.price_metadata where account_id = $1 group by 1',
      [shop.accountId],
    );
    expect(pairs).toEqual([{ listing: 'archived', count: 3 * count }]);
  });
});
