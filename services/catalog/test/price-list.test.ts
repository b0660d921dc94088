import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const makeProduct = async (shop: Shop) => (await on.gateway.createProduct({ product: { name: 'p' } }, shop)).productId;

async function makePrice(shop: Shop, productId: string, fields: object = {}): Promise<string> {
  const owner = { case: 'productId', value: productId } as const;
  return (await on.gateway.createPrice({ unitAmountCents: 100n, owner, ...fields }, shop)).priceId;
}

async function listed(shop: Shop, request: object = {}): Promise<string[]> {
  return (await on.gateway.listPrices(request, shop)).prices.map(({ priceId }) => priceId);
}

describe('GET /v1/prices', () => {
  it('rule 1: is sorted by price id descending [PRICE-8]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push(await makePrice(shop, productId));
    expect(await listed(shop)).toEqual([...ids].sort().reverse());
  });

  it('rule 2: holds only active prices by default, archived ones with active=false [PRICE-9]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const kept = await makePrice(shop, productId);
    const archived = await makePrice(shop, productId);
    await on.gateway.updatePrice({ id: archived, active: false }, shop);
    expect(await listed(shop)).toEqual([kept]);
    expect(await listed(shop, { active: true })).toEqual([kept]);
    expect(await listed(shop, { active: false })).toEqual([archived]);
  });

  it('rule 3: is filtered to one product [PRICE-10]', async () => {
    const shop = on.account();
    const [a, b] = [await makeProduct(shop), await makeProduct(shop)];
    const ofA = await makePrice(shop, a);
    await makePrice(shop, b);
    expect(await listed(shop, { productId: a })).toEqual([ofA]);
  });

  it('rule 4: omits a price whose product is archived, even if the price is active, by every filter [PRICE-11]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const hidden = await makePrice(shop, productId, { lookupKey: 'h', metadata: { a: '1', b: '2' } });
    await on.gateway.updateProduct({ id: productId, active: false }, shop);
    for (const active of [undefined, true, false]) {
      for (const filter of [
        {},
        { productId },
        { lookupKeys: ['h'] },
        { metadata: { a: '1' } },
        { metadata: { a: '1', b: '2' } },
      ]) {
        expect(await listed(shop, { active, ...filter })).toEqual([]);
      }
    }
    expect((await on.gateway.getPrice({ id: hidden }, shop)).active).toBe(true);
    await on.gateway.updateProduct({ id: productId, active: true }, shop);
    expect(await listed(shop, { metadata: { a: '1', b: '2' } })).toEqual([hidden]);
  });

  it('rule 4: holds for a price that is made while its product is being archived [PRICE-11]', async () => {
    const shop = on.account();
    for (let round = 0; round < 10; round++) {
      const productId = await makeProduct(shop);
      await Promise.all([
        ...Array.from({ length: 4 }, () => makePrice(shop, productId, { metadata: { round: String(round) } })),
        on.gateway.updateProduct({ id: productId, active: false }, shop),
      ]);
      expect(await listed(shop, { productId })).toEqual([]);
      expect(await listed(shop, { metadata: { round: String(round) } })).toEqual([]);
    }
  });

  it('rule 5: matches any of the lookup keys against the price’s own [LIM-2, PRICE-12]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const a = await makePrice(shop, productId, { lookupKey: 'a' });
    const b = await makePrice(shop, productId, { lookupKey: 'b,c' });
    await makePrice(shop, productId, { lookupKey: 'd' });
    expect(await listed(shop, { lookupKeys: ['a', 'b,c', 'nobody'] })).toEqual([b, a].sort().reverse());
    expect(await listed(shop, { lookupKeys: ['b'] })).toEqual([]);
  });

  it('rule 6: combines metadata pairs with AND, independently of lookup keys [PRICE-13]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const all = { a: '1', b: '2', c: '3', d: '4', e: '5' };
    const whole = await makePrice(shop, productId, { metadata: all, lookupKey: 'real' });
    const half = await makePrice(shop, productId, { metadata: { a: '1', b: '2', lookup_key: 'real' } });
    const pairs = Object.entries(all);
    for (let count = 1; count <= pairs.length; count++) {
      const metadata = Object.fromEntries(pairs.slice(0, count));
      expect(await listed(shop, { metadata })).toEqual(count <= 2 ? [half, whole].sort().reverse() : [whole]);
      expect(await listed(shop, { metadata: { ...metadata, [pairs[count - 1]?.[0] ?? '']: 'other' } })).toEqual([]);
      expect(await listed(shop, { metadata, productId, lookupKeys: ['real'] })).toEqual([whole]);
    }
    expect(await listed(shop, { metadata: { lookup_key: 'real' } })).toEqual([half]);
    expect(await listed(shop, { metadata: { __proto__x: '1' } })).toEqual([]);
  });

  it('rule 6: of archived prices with pairs and a product or a lookup key there are none among the active ones', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const fields = { metadata: { a: '1' }, lookupKey: 'k' };
    const id = await makePrice(shop, productId, { ...fields, active: false });
    for (const filter of [{ productId }, { lookupKeys: ['k'] }, { productId, lookupKeys: ['k'] }]) {
      expect(await listed(shop, { metadata: { a: '1' }, ...filter })).toEqual([]);
      expect(await listed(shop, { metadata: { a: '1' }, ...filter, active: false })).toEqual([id]);
    }
  });

  it('rule 6: follows metadata as it changes [PRICE-13]', async () => {
    const shop = on.account();
    const id = await makePrice(shop, await makeProduct(shop), { metadata: { a: '1', b: '2' } });
    await on.gateway.updatePrice({ id, metadata: { entries: { a: '1', c: '3' } } }, shop);
    expect(await listed(shop, { metadata: { a: '1', c: '3' } })).toEqual([id]);
    expect(await listed(shop, { metadata: { b: '2' } })).toEqual([]);
    await on.gateway.updatePrice({ id, active: false }, shop);
    expect(await listed(shop, { metadata: { a: '1' } })).toEqual([]);
    expect(await listed(shop, { metadata: { a: '1' }, active: false })).toEqual([id]);
    await on.gateway.updatePrice({ id, clear: ['metadata'] }, shop);
    expect(await listed(shop, { metadata: { a: '1' }, active: false })).toEqual([]);
  });

  it('rule 7: pages by limit, offset and both cursors, with every filter, and expands the product [GEN-12, PRICE-14]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++)
      ids.unshift(await makePrice(shop, productId, { metadata: { a: '1', b: '2' }, lookupKey: `k${i}` }));
    const lookupKeys = ids.map((_, index) => `k${index}`);
    for (const filter of [
      {},
      { productId },
      { lookupKeys },
      { metadata: { a: '1' } },
      { metadata: { b: '2', a: '1' } },
    ]) {
      const walked: string[] = [];
      let startingAfter: string | undefined;
      for (let page = 0; page < 4; page++) {
        const part = await on.gateway.listPrices(
          { ...filter, page: { limit: 2n, ...(startingAfter === undefined ? {} : { startingAfter }) } },
          shop,
        );
        expect(part.hasMore).toBe(page < 3);
        walked.push(...part.prices.map(({ priceId }) => priceId));
        startingAfter = walked.at(-1);
      }
      expect(walked).toEqual(ids);
      expect(await listed(shop, { ...filter, page: { limit: 2n, endingBefore: ids[5] } })).toEqual(ids.slice(3, 5));
      expect(await listed(shop, { ...filter, page: { limit: 2n, offset: 3 } })).toEqual(ids.slice(3, 5));
    }
    const { prices } = await on.gateway.listPrices({ expandProduct: true }, shop);
    expect(prices.every((price) => price.product?.productId === productId)).toBe(true);
  });

  it('rule 6: finds the same by pairs that are rare and by pairs that are frequent, of a product and of all, whichever is named first [PRICE-13, D14.312]', async () => {
    const shop = on.account();
    const [productId, other] = [await makeProduct(shop), await makeProduct(shop)];
    const count = 700;
    await on.place.admin(
      `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
         unit_amount_cents, metadata, created_at, updated_at)
       select $1, true, 'fprice_' || lpad(n::text, 26, '0'), case when n % 4 > 0 and n <= 600 then $2 else $3 end, true, '', n, jsonb_build_object('all', 'x', 'third', (n % 3)::text, 'half', (n % 2)::text,
         'rare', (n % 50)::text), now(), now() from generate_series(1, ${count}) n`,
      [shop.accountId, productId, other],
    );
    const isOf = { [productId]: (n: number) => n % 4 > 0 && n <= 600, [other]: (n: number) => n % 4 === 0 || n > 600 };
    const numbers = Array.from({ length: count }, (_, index) => count - index);
    const idOf = (number: number) => `fprice_${String(number).padStart(26, '0')}`;
    const filters: [Record<string, string>, (n: number) => boolean][] = [
      [{ all: 'x' }, () => true],
      [{ all: 'x', half: '1' }, (n) => n % 2 === 1],
      [{ all: 'x', third: '2' }, (n) => n % 3 === 2],
      [{ third: '2', half: '1' }, (n) => n % 3 === 2 && n % 2 === 1],
      [{ all: 'x', rare: '7' }, (n) => n % 50 === 7],
      [{ rare: '7', all: 'x' }, (n) => n % 50 === 7],
      [{ half: '0', rare: '7' }, () => false],
      [{ all: 'x', half: '1', third: '0' }, (n) => n % 6 === 3],
      [{ half: '1', third: '0', all: 'x', rare: '33' }, (n) => n % 6 === 3 && n % 50 === 33],
    ];
    for (const [metadata, has] of filters) {
      const expected = numbers.filter(has).map(idOf);
      expect(await walk(shop, metadata, 90)).toEqual(expected);
      // A page that the first look fills exactly is not the last.
      expect(await walk(shop, metadata, 50)).toEqual(expected);
      expect(await listed(shop, { metadata, page: { limit: 9n, offset: 4 } })).toEqual(expected.slice(4, 13));
      for (const [product, isOwn] of Object.entries(isOf)) {
        const ofProduct = numbers.filter((n) => has(n) && isOwn(n)).map(idOf);
        expect(await walk(shop, metadata, 40, product)).toEqual(ofProduct);
        const page = { limit: 9n, offset: 4 };
        expect(await listed(shop, { metadata, productId: product, page })).toEqual(ofProduct.slice(4, 13));
      }
      const at = Math.floor(expected.length / 2);
      const endingBefore = expected[at];
      if (endingBefore === undefined) continue;
      const before = await listed(shop, { metadata, page: { limit: 5n, endingBefore } });
      expect(before).toEqual(expected.slice(Math.max(0, at - 5), at));
    }
  });

  it('rule 6: finds all by a pair that a hundred or some more have, and by two frequent pairs that meet among the oldest only [D14.312]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    const count = 11_000;
    await on.place.admin(
      `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
         unit_amount_cents, metadata, created_at, updated_at)
       select $1, true, 'fprice_' || lpad(n::text, 26, '0'), $2, true, '', n, jsonb_strip_nulls(jsonb_build_object('all', 'x',
         'old', case when n <= 5500 then 'x' end, 'new', case when n > 5490 then 'x' end, 'hundred', case when n <= 100 then 'x' end,
         'more', case when n <= 101 then 'x' end)), now(), now() from generate_series(1, ${count}) n`,
      [shop.accountId, productId],
    );
    const newest = async (metadata: Record<string, string>, limit: bigint) =>
      (await listed(shop, { metadata, page: { limit } })).map((id) => Number(id.slice(-6)));
    const down = (from: number, length: number) => Array.from({ length }, (_, index) => from - index);
    expect(await newest({ all: 'x', hundred: 'x' }, 100n)).toEqual(down(100, 100));
    expect(await newest({ all: 'x', more: 'x' }, 100n)).toEqual(down(101, 100));
    expect(await newest({ all: 'x', old: 'x' }, 20n)).toEqual(down(5500, 20));
    expect(await newest({ new: 'x', old: 'x' }, 20n)).toEqual(down(5500, 10));
    // By a product, too, of which none of the newest has the pair, while none of those of the pair are of the product.
    const other = await makeProduct(shop);
    await on.place.admin(
      `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
         unit_amount_cents, metadata, created_at, updated_at)
       select $1, true, 'fprice_' || lpad(n::text, 26, '0'), case when n > 15000 then $3 else $2 end, true, '', n,
         case when n <= 15000 then '{}' else '{"old": "x"}' end::jsonb, now(), now() from generate_series(11001, 18000) n`,
      [shop.accountId, productId, other],
    );
    const ofProduct = async (id: string, metadata: Record<string, string>, limit: bigint) =>
      (await listed(shop, { productId: id, metadata, page: { limit } })).map((one) => Number(one.slice(-6)));
    expect(await ofProduct(productId, { old: 'x' }, 20n)).toEqual(down(5500, 20));
    expect(await ofProduct(productId, { old: 'x', new: 'x' }, 20n)).toEqual(down(5500, 10));
    expect(await ofProduct(productId, { old: 'x', hundred: 'x' }, 100n)).toEqual(down(100, 100));
    expect(await ofProduct(other, { old: 'x' }, 20n)).toEqual(down(18_000, 20));
    expect(await ofProduct(other, { old: 'x', new: 'x' }, 20n)).toEqual([]);
  });
});

async function walk(
  shop: Shop,
  metadata: Record<string, string>,
  limit: number,
  productId?: string,
): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const startingAfter = ids.at(-1);
    const page = { limit: BigInt(limit), ...(startingAfter === undefined ? {} : { startingAfter }) };
    const { prices, hasMore } = await on.gateway.listPrices({ metadata, productId, page }, shop);
    ids.push(...prices.map(({ priceId }) => priceId));
    if (!hasMore) return ids;
  }
}
