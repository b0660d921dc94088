import { openDatabase, openSession } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture({ connections: 50 });
});
afterAll(() => on.close());

async function product(shop: Shop, fields: object = {}): Promise<string> {
  return (await on.gateway.createProduct({ product: { name: 'Thermometer', ...fields } }, shop)).productId;
}

async function price(shop: Shop, productId: string, fields: object = {}) {
  const owner = { case: 'productId', value: productId } as const;
  return on.gateway.createPrice({ unitAmountCents: 1000n, owner, ...fields }, shop);
}

describe('a price', () => {
  it('is one-time unless recurring is included [PRICE-1, PRICE-4, D4.2]', async () => {
    const shop = on.account();
    const id = await product(shop);
    expect((await price(shop, id)).recurring).toBeUndefined();
    const recurring = { interval: 'monthly', intervalCount: 0, trialPeriodDays: 7 };
    expect((await price(shop, id, { recurring })).recurring).toMatchObject({
      interval: 'month',
      intervalCount: 1,
      trialPeriodDays: 7,
    });
    const bad = price(shop, id, { recurring: { interval: 'fortnight', intervalCount: 1 } });
    expect(await refusalOf(bad)).toEqual([['body.price.recurring.interval', 'invalid_value']]);
  });

  it('is owned by its account and read back whole, its product inlined when that is asked for [PRICE-1, PRICE-2]', async () => {
    const shop = on.account();
    const productId = await product(shop, { metadata: { brand: 'x' } });
    const made = await price(shop, productId, { description: 'Each', metadata: { a: '1' }, lookupKey: 'sku-1' });
    expect(made).toMatchObject({
      ownerPartnerId: shop.accountId,
      unitAmountCents: 1000n,
      active: true,
      lookupKey: 'sku-1',
    });
    expect(await on.gateway.getPrice({ id: made.priceId }, shop)).toEqual(made);
    const expanded = await on.gateway.getPrice({ id: made.priceId, expandProduct: true }, shop);
    expect(expanded.product).toMatchObject({ productId, metadata: { brand: 'x' } });
  });

  it('takes the product of product_data along, both or neither [PRICE-1]', async () => {
    const shop = on.account();
    const owner = { case: 'productData', value: { name: 'Inline', upcCode: '036000291452' } } as const;
    const made = await on.gateway.createPrice({ unitAmountCents: 5n, owner, lookupKey: 'inline' }, shop);
    expect(await on.gateway.getProduct({ id: made.productId }, shop)).toMatchObject({ name: 'Inline', active: true });
    const second = { case: 'productData', value: { name: 'Never' } } as const;
    const refused = on.gateway.createPrice({ unitAmountCents: 5n, owner: second, lookupKey: 'inline' }, shop);
    expect(await refusalOf(refused)).toBe('lookup_key_in_use');
    expect((await on.gateway.listProducts({}, shop)).products).toHaveLength(1);
  });

  it('needs a product, of the caller [PRICE-3]', async () => {
    const shop = on.account();
    const nobody = on.gateway.createPrice({ unitAmountCents: 5n }, shop);
    expect(await refusalOf(nobody)).toEqual([['body.price.product', 'missing']]);
    const foreign = await product(on.account());
    for (const id of [foreign, newId('product'), 'x']) {
      expect(await refusalOf(price(shop, id))).toEqual([['body.price.product', 'product_not_found']]);
    }
  });

  it('that is sent back whole keeps following its product, until it gets a class of its own [D14.24]', async () => {
    const shop = on.account();
    const productId = await product(shop, { hsaFsaEligibility: 'vision' });
    const { priceId: id, hsaFsaEligibility: shown } = await price(shop, productId);
    expect(shown).toBe('vision');
    const sent = { id, hsaFsaEligibility: 'vision', description: 'Each' };
    expect(await on.gateway.updatePrice(sent, shop)).toMatchObject({
      hsaFsaEligibility: 'vision',
      description: 'Each',
    });
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'service' }, shop);
    expect((await on.gateway.getPrice({ id }, shop)).hsaFsaEligibility).toBe('service');
    await on.gateway.updatePrice({ id, hsaFsaEligibility: 'prescription' }, shop);
    await on.gateway.updatePrice({ id, hsaFsaEligibility: 'prescription', description: 'Again' }, shop);
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'vision' }, shop);
    expect((await on.gateway.getPrice({ id }, shop)).hsaFsaEligibility).toBe('prescription');
  });

  it('takes on the class of its product where its own is unset, also when the product changes later [PRICE-5, D13.7]', async () => {
    const shop = on.account();
    const productId = await product(shop);
    const plain = await price(shop, productId);
    const own = await price(shop, productId, { hsaFsaEligibility: 'vision' });
    const classes = async () => {
      const { prices } = await on.gateway.batchGetPrices({ ids: [plain.priceId, own.priceId] }, shop);
      const of = (id: string) => prices.find(({ priceId }) => priceId === id)?.hsaFsaEligibility;
      return [of(plain.priceId), of(own.priceId)];
    };
    expect(await classes()).toEqual([undefined, 'vision']);
    await on.gateway.updateProduct({ id: productId, hsaFsaEligibility: 'auto_substantiation' }, shop);
    expect(await classes()).toEqual(['auto_substantiation', 'vision']);
    await on.gateway.updatePrice({ id: own.priceId, clear: ['hsa_fsa_eligibility'] }, shop);
    expect(await classes()).toEqual(['auto_substantiation', 'auto_substantiation']);
    await on.gateway.updateProduct({ id: productId, clear: ['hsa_fsa_eligibility'] }, shop);
    expect(await classes()).toEqual([undefined, undefined]);
  });

  it('changes only what is supplied, and never its amount, recurrence or product [END-1, PRICE-6]', async () => {
    const shop = on.account();
    const made = await price(shop, await product(shop), { description: 'a', metadata: { k: 'v' }, lookupKey: 'keep' });
    const updated = await on.gateway.updatePrice({ id: made.priceId, active: false }, shop);
    expect(updated).toEqual({ ...made, active: false });
    const cleared = await on.gateway.updatePrice({ id: made.priceId, clear: ['lookup_key', 'metadata'] }, shop);
    expect(cleared).toMatchObject({ description: 'a', metadata: {} });
    expect(cleared.lookupKey).toBeUndefined();
    const plain = await on.gateway.updatePrice({ id: made.priceId, clear: ['description'] }, shop);
    expect(plain.description).toBeUndefined();
    expect(await refusalOf(on.gateway.updatePrice({ id: newId('price'), active: true }, shop))).toBe('price_not_found');
  });

  it('with an amount below zero or beyond the safe integers is refused, and the table refuses it too [GEN-3]', async () => {
    const shop = on.account();
    const id = await product(shop);
    for (const unitAmountCents of [-1n, 2n ** 53n]) {
      const made = price(shop, id, { unitAmountCents });
      expect(await refusalOf(made)).toEqual([['body.price.unit_amount', 'amount_out_of_range']]);
    }
    const [constraint] = await on.place.admin<{ def: string }>(
      "select pg_get_constraintdef(oid) as def from pg_constraint where conname = 'prices_amount_range'",
    );
    expect(constraint?.def).toContain('9007199254740991');
  });
});

describe('a lookup key', () => {
  it('moves from a price of the same product [D13.7]', async () => {
    const shop = on.account();
    const id = await product(shop);
    const first = await price(shop, id, { lookupKey: 'k' });
    const second = await price(shop, id, { lookupKey: 'k' });
    expect(second.lookupKey).toBe('k');
    expect((await on.gateway.getPrice({ id: first.priceId }, shop)).lookupKey).toBeUndefined();
  });

  it('that is empty is none, also for two prices and in place of one that was set [D14.55]', async () => {
    const shop = on.account();
    const id = await product(shop);
    const keyed = await price(shop, id, { lookupKey: 'k' });
    for (let made = 0; made < 2; made += 1) {
      expect((await price(shop, id, { lookupKey: '' })).lookupKey).toBeUndefined();
    }
    expect((await on.gateway.updatePrice({ id: keyed.priceId, lookupKey: '' }, shop)).lookupKey).toBeUndefined();
  });

  it('held by another product stays there, also when that is archived [D13.7]', async () => {
    const shop = on.account();
    const holder = await price(shop, await product(shop), { lookupKey: 'k', active: false });
    const other = await product(shop);
    expect(await refusalOf(price(shop, other, { lookupKey: 'k' }))).toBe('lookup_key_in_use');
    const without = await price(shop, other);
    expect(await refusalOf(on.gateway.updatePrice({ id: without.priceId, lookupKey: 'k' }, shop))).toBe(
      'lookup_key_in_use',
    );
    expect((await on.gateway.getPrice({ id: holder.priceId }, shop)).lookupKey).toBe('k');
  });

  it('moves with transfer_lookup_key, by POST and by PATCH, from whichever price holds it [PRICE-1, D13.7]', async () => {
    const shop = on.account();
    const first = await price(shop, await product(shop), { lookupKey: 'k' });
    const second = await price(shop, await product(shop), { lookupKey: 'k', transferLookupKey: true });
    expect((await on.gateway.getPrice({ id: first.priceId }, shop)).lookupKey).toBeUndefined();
    await on.gateway.updatePrice({ id: first.priceId, lookupKey: 'k', transferLookupKey: true }, shop);
    expect((await on.gateway.getPrice({ id: second.priceId }, shop)).lookupKey).toBeUndefined();
  });

  it('is one account and mode’s own', async () => {
    const shop = on.account();
    await price(shop, await product(shop), { lookupKey: 'k' });
    for (const other of [on.account(), on.account({ accountId: shop.accountId, testMode: false })]) {
      expect((await price(other, await product(other), { lookupKey: 'k' })).lookupKey).toBe('k');
    }
  });

  it('transferred by twenty at once ends with one holder and no failure [PRICE-1]', async () => {
    const shop = on.account();
    const ids = await Promise.all(Array.from({ length: 20 }, () => product(shop)));
    await Promise.all(ids.map((id) => price(shop, id, { lookupKey: 'hot', transferLookupKey: true })));
    const { prices } = await on.gateway.listPrices({ lookupKeys: ['hot'] }, shop);
    expect(prices).toHaveLength(1);
  });
});

// Another transaction holds the price that the change needs and asks for what the change has locked; it is patient, so the change gives way. The
// change looks for a circle once, a second after it has begun to wait: it waits for the door first, and for the other one when the circle is there.
async function inACircle<Answer>(
  heldPriceId: string,
  [asks, ...values]: readonly [string, ...string[]],
  change: () => Promise<Answer>,
): Promise<Answer> {
  const admin = openDatabase({ url: on.place.adminUrl, applicationName: 'circle', schema: 'catalog' });
  const [door, other] = [await openSession(admin, 'door'), await openSession(admin, 'circle')];
  const wait = (count: number) =>
    waitUntil(async () => {
      const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      return (await on.place.admin(waiting)).length === count;
    });
  try {
    for (const session of [door, other]) {
      await session.query("begin; set local deadlock_timeout = '20s'; set local lock_timeout = '25s'");
      await session.query('select from prices where price_id = $1 for share', [heldPriceId]);
    }
    const changed = change();
    await wait(1);
    const asked = other.query(asks, values);
    await wait(2);
    await door.query('commit');
    await asked;
    await other.query('commit');
    return await changed;
  } finally {
    await door.close();
    await other.close();
    await admin.close();
  }
}

describe('a lookup key that moves', () => {
  const takeKey = (shop: Shop, lookupKey: string) =>
    [
      "select pg_advisory_xact_lock(hashtextextended('catalog.lookup_key:' || $1::text || ':true:' || $2::text, 0))",
      ...[shop.accountId, lookupKey],
    ] as const;

  it('is claimed once more after a circle of waiting was broken, by a new price and by an update', async () => {
    const shop = on.account();
    const [first, second] = [await product(shop), await product(shop)];
    const holder = await price(shop, first, { lookupKey: 'k' });
    const { priceId, lookupKey } = await inACircle(holder.priceId, takeKey(shop, 'k'), () =>
      price(shop, second, { lookupKey: 'k', transferLookupKey: true }),
    );
    expect(lookupKey).toBe('k');
    const change = { id: holder.priceId, lookupKey: 'k', transferLookupKey: true };
    const moved = await inACircle(priceId, takeKey(shop, 'k'), () => on.gateway.updatePrice(change, shop));
    expect(moved.lookupKey).toBe('k');
    expect((await on.gateway.getPrice({ id: priceId }, shop)).lookupKey).toBeUndefined();
  });

  it('is held by one price at every moment, also for those who look while twenty move it [PRICE-1]', async () => {
    const shop = on.account();
    const ids = await Promise.all(Array.from({ length: 20 }, () => product(shop)));
    await price(shop, ids[0] ?? '', { lookupKey: 'hot' });
    let isMoving = true;
    const seen: number[] = [];
    const look = async () => {
      while (isMoving) seen.push((await on.gateway.listPrices({ lookupKeys: ['hot'] }, shop)).prices.length);
    };
    const looking = Array.from({ length: 4 }, look);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(ids.map((id) => price(shop, id, { lookupKey: 'hot', transferLookupKey: true })));
    }
    isMoving = false;
    await Promise.all(looking);
    expect(seen.length).toBeGreaterThan(10);
    expect(new Set(seen)).toEqual(new Set([1]));
  });
});

describe('an organization', () => {
  it('reads a sibling’s single price, with its product when expanded, and nothing else of it [PRICE-7, D2.3]', async () => {
    const shop = on.account();
    const productId = await product(shop);
    const made = await price(shop, productId, { lookupKey: 'shared' });
    const sibling = on.account({ siblingAccountIds: [newId('account'), shop.accountId] });
    const seen = await on.gateway.getPrice({ id: made.priceId, expandProduct: true }, sibling);
    expect(seen).toMatchObject({ priceId: made.priceId, ownerPartnerId: shop.accountId });
    expect(seen.product?.productId).toBe(productId);
    expect((await on.gateway.getPrice({ id: made.priceId }, sibling)).product).toBeUndefined();

    expect(await refusalOf(on.gateway.getProduct({ id: productId }, sibling))).toBe('product_not_found');
    expect(await refusalOf(on.gateway.updatePrice({ id: made.priceId, active: false }, sibling))).toBe(
      'price_not_found',
    );
    expect((await on.gateway.listPrices({ lookupKeys: ['shared'] }, sibling)).prices).toEqual([]);
    expect((await on.gateway.batchGetPrices({ ids: [made.priceId] }, sibling)).prices).toEqual([]);
    const sold = on.checkout.resolveCart(
      {
        sessionId: newId('checkout_session'),
        lines: [{ item: { case: 'priceId', value: made.priceId }, quantity: 1n }],
      },
      sibling.atCheckout,
    );
    expect(await refusalOf(sold)).toEqual([['body.checkout_session.line_items.0.price', 'price_not_found']]);
  });

  it('has two worlds: a sibling’s price of the other mode is not there [PRICE-7]', async () => {
    const shop = on.account({ testMode: false });
    const made = await price(shop, await product(shop));
    const sibling = on.account({ siblingAccountIds: [shop.accountId] });
    expect(await refusalOf(on.gateway.getPrice({ id: made.priceId }, sibling))).toBe('price_not_found');
    expect(await refusalOf(on.gateway.getPrice({ id: made.priceId }, on.account({ testMode: false })))).toBe(
      'price_not_found',
    );
  });
});

it('a product is archived once more after one of its prices and another transaction waited for each other', async () => {
  const shop = on.account();
  const productId = await product(shop);
  const [first, second] = [await price(shop, productId, {}), await price(shop, productId, {})];
  const lockFirst = ['select from prices where price_id = $1 for update', first.priceId] as const;
  const archive = () => on.gateway.updateProduct({ id: productId, active: false }, shop);
  expect((await inACircle(second.priceId, lockFirst, archive)).active).toBe(false);
  expect((await on.gateway.listPrices({ productId }, shop)).prices).toEqual([]);
});
