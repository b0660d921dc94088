import { scoped, withTx } from '@eligo/postgres';
import { armFailpoint, failpointReached, releaseFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { relistPrices } from '../src/jobs/relist-prices.ts';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

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

const run = () => relistPrices({ database: on.database }).run(new AbortController().signal);
async function runToEnd(): Promise<number> {
  for (let runs = 1; ; runs += 1) if (!(await run())) return runs;
}

const setActive = (shop: Shop, productId: string, active: boolean) =>
  on.gateway.updateProduct({ id: productId, active }, shop);

/** The numbers of the prices that a list has. */
async function listed(shop: Shop, request: object): Promise<number[]> {
  const { prices } = await on.gateway.listPrices({ page: { limit: 5n }, ...request }, shop);
  return prices.map(({ priceId }) => Number(priceId.slice(-6)));
}

/** What there is of an account's prices: how many are in each list, how many are not as their product is, and how many products wait. */
async function standing({ accountId }: Shop): Promise<Record<string, number>> {
  const [row] = await on.place.admin<Record<string, number>>(
    `select count(*) filter (where p.listing = 'active')::int as active, count(*) filter (where p.listing = 'archived')::int as archived,
       count(*) filter (where p.product_active <> r.active)::int as stale,
       (select count(*)::int from catalog.relistings z where z.account_id = $1) as waiting
     from catalog.prices p join catalog.products r using (account_id, test_mode, product_id) where account_id = $1`,
    [accountId],
  );
  return row ?? {};
}

const resolve = (shop: Shop, item: object, sessionId = newId('checkout_session')) =>
  on.checkout.resolveCart({ sessionId, lines: [{ item, quantity: 1n }] } as never, shop.atCheckout);
const ofPrice = (number: number) => ({ case: 'priceId', value: idOf(number) });

describe('a product with more than 500 prices', () => {
  beforeEach(() => turnFailpointsOn());
  afterEach(() => turnFailpointsOff());

  const count = 2_600;
  // Every seventh is archived itself; they have a pair in common, and one of twenty has another.
  async function shopOfMany(): Promise<{ shop: Shop; productId: string }> {
    const shop = on.account();
    const productId = await makeProduct(shop);
    await givePrices(shop, productId, count, "jsonb_build_object('a', 'x', 'b', (n % 20)::text)");
    await on.place.admin(
      'update catalog.prices set active = false where account_id = $1 and right(price_id, 6)::int % 7 = 0',
      [shop.accountId],
    );
    return { shop, productId };
  }
  const filters = (productId: string) => [
    {},
    { productId },
    { metadata: { a: 'x' } },
    { metadata: { a: 'x', b: '3' } },
    { productId, metadata: { a: 'x' } },
    { productId, metadata: { b: '3', a: 'x' } },
  ];
  const whole = { active: 2_229, archived: 371, stale: 0, waiting: 0 };
  const hidden = { active: 0, archived: 0, stale: 0, waiting: 0 };

  it('is archived without a write to a price: its prices are in no list and not for sale at once, and the job hides them [D14.310, PRICE-11]', async () => {
    const { shop, productId } = await shopOfMany();
    const other = await makeProduct(shop);
    const owner = { case: 'productId', value: other } as const;
    const kept = await on.gateway.createPrice({ unitAmountCents: 1n, owner, metadata: { a: 'x', b: '3' } }, shop);
    expect(await standing(shop)).toEqual({ ...whole, active: whole.active + 1 });
    await setActive(shop, productId, false);
    const rest = { stale: count, waiting: 1 };
    expect(await standing(shop)).toMatchObject(rest);
    const isHidden = async () => {
      for (const filter of filters(productId)) {
        const { prices } = await on.gateway.listPrices(filter, shop);
        expect(prices.map(({ priceId }) => priceId)).toEqual('productId' in filter ? [] : [kept.priceId]);
        expect(await listed(shop, { ...filter, active: false })).toEqual([]);
      }
      expect(await refusalOf(resolve(shop, ofPrice(5)))).toEqual([
        ['body.checkout_session.line_items.0.price', 'price_not_found'],
      ]);
    };
    await isHidden();
    await run();
    await isHidden();
    expect((await standing(shop)).stale).toBeLessThan(count);
    // 2,600 prices are hidden and then looked at once more, 500 at a time.
    expect(await runToEnd()).toBeLessThanOrEqual(12);
    await isHidden();
    expect(await standing(shop)).toEqual({ ...hidden, active: 1 });
  });

  it('is for sale at once when it is active again, and its prices come back to the lists they were in [D14.310]', async () => {
    const { shop, productId } = await shopOfMany();
    await setActive(shop, productId, false);
    await runToEnd();
    await setActive(shop, productId, true);
    expect((await resolve(shop, ofPrice(5))).lines[0]?.price?.priceId).toBe(idOf(5));
    expect(await refusalOf(resolve(shop, ofPrice(7)))).toEqual([
      ['body.checkout_session.line_items.0.price', 'price_not_found'],
    ]);
    expect(await runToEnd()).toBeLessThanOrEqual(6);
    expect(await standing(shop)).toEqual(whole);
    for (const filter of filters(productId)) {
      const isOf = (n: number) => !('metadata' in filter && 'b' in filter.metadata) || n % 20 === 3;
      const numbers = Array.from({ length: count }, (_, index) => count - index).filter(isOf);
      expect(await listed(shop, filter)).toEqual(numbers.filter((n) => n % 7 > 0).slice(0, 5));
      expect(await listed(shop, { ...filter, active: false })).toEqual(numbers.filter((n) => n % 7 === 0).slice(0, 5));
    }
  });

  it('that is archived and put up for sale again, or the other way, while its prices follow, ends as it is last [D14.310]', async () => {
    for (const batches of [0, 1, 3, 7, 9]) {
      const { shop, productId } = await shopOfMany();
      await setActive(shop, productId, false);
      for (let ran = 0; ran < batches; ran += 1) await run();
      await setActive(shop, productId, true);
      if (batches % 2 === 1) await run();
      await setActive(shop, productId, false);
      await run();
      await setActive(shop, productId, true);
      await runToEnd();
      expect(await standing(shop)).toEqual(whole);
    }
  });

  it('is relisted to the end after a run that a crash ended [D14.310]', async () => {
    const { shop, productId } = await shopOfMany();
    await setActive(shop, productId, false);
    await run();
    const before = await standing(shop);
    armFailpoint('relist.before_commit', { action: 'error' });
    await expect(run()).rejects.toThrow('relist.before_commit');
    expect(await standing(shop)).toEqual(before);
    expect(await listed(shop, { metadata: { a: 'x' } })).toEqual([]);
    await runToEnd();
    expect(await standing(shop)).toEqual(hidden);
  });

  it('hides prices that are made, changed or put up for sale by a session while its prices follow [D14.310, PRICE-11]', async () => {
    const { shop, productId } = await shopOfMany();
    const owner = { case: 'productId', value: productId } as const;
    const sessions = Array.from({ length: 3 }, () => newId('checkout_session'));
    for (const sessionId of sessions)
      await resolve(shop, { case: 'priceData', value: { unitAmountCents: 5n, owner } }, sessionId);
    const activate = (sessionId = '') => on.checkout.activateInline({ sessionId }, shop.atCheckout);
    await setActive(shop, productId, false);
    await activate(sessions[0]);
    await run();
    // Within a batch, before it commits: the price of a session, an archived price that is active again, and new prices, which wait for the batch.
    armFailpoint('relist.before_commit', { action: 'pause', skip: 5 });
    const batches = runToEnd();
    await failpointReached('relist.before_commit');
    const writes = [
      activate(sessions[1]),
      on.gateway.updatePrice({ id: idOf(7), active: true }, shop),
      on.gateway.createPrice({ unitAmountCents: 1n, owner }, shop),
    ];
    await Promise.race([...writes]);
    releaseFailpoint('relist.before_commit');
    await Promise.all([batches, ...writes]);
    await activate(sessions[2]);
    await runToEnd();
    expect(await standing(shop)).toEqual(hidden);
    expect(await listed(shop, { productId })).toEqual([]);
    await setActive(shop, productId, true);
    await runToEnd();
    // With price 7, the new one, and those of the three sessions.
    expect(await standing(shop)).toEqual({ ...whole, active: whole.active + 5, archived: whole.archived - 1 });
  });

  it('gives its prices its class at once, in what is read, listed and sold [D14.310, PRICE-5]', async () => {
    const { shop, productId } = await shopOfMany();
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'vision' }, shop);
    expect((await on.gateway.getPrice({ id: idOf(5) }, shop)).hsaFsaEligibility).toBe('vision');
    const { prices } = await on.gateway.listPrices({ productId }, shop);
    expect(new Set(prices.map(({ hsaFsaEligibility }) => hsaFsaEligibility))).toEqual(new Set(['vision']));
    const [line] = (await resolve(shop, ofPrice(5))).lines;
    expect([line?.price?.hsaFsaEligibility, line?.eligibility?.hsaFsaEligibility]).toEqual(['vision', 'vision']);
    expect((await standing(shop)).waiting).toBe(0);
  });

  it('has its prices follow in the request if they are 500, as they did before [D14.310]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop);
    await givePrices(shop, productId, 500);
    await setActive(shop, productId, false);
    expect(await standing(shop)).toEqual(hidden);
    await setActive(shop, productId, true);
    expect(await standing(shop)).toEqual({ active: 500, archived: 0, stale: 0, waiting: 0 });
  });
});
