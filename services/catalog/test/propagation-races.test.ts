import { openSession, type Session, withTx } from '@eligo/postgres';
import {
  armFailpoint,
  createLogger,
  failpointReached,
  PartlyFailed,
  prepareJobs,
  releaseFailpoint,
  turnFailpointsOff,
  turnFailpointsOn,
  wakeJobsOf,
} from '@eligo/service';
import { untilLockWait, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { propagateProductStates } from '../src/jobs/propagate-products.ts';
import { dueProducts, propagationLagSeconds, putOffPropagation } from '../src/store/propagating-products.ts';
import { type Fixture, openFixture, type Shop } from './fixture.ts';
import { count, hidden, idOf, openPropagation, openShopOfMany, type Propagation, whole } from './propagation.ts';

let on: Fixture;
let many: Propagation;
let session: Session;
beforeAll(async () => {
  on = await openFixture();
  many = openPropagation(on);
  session = await openSession(on.database, 'races');
});
afterAll(async () => {
  await session.close();
  await on.close();
});
beforeEach(() => turnFailpointsOn());
afterEach(() => turnFailpointsOff());

/** Begins a transaction of another process of the catalog, in the account. */
async function begin({ accountId }: Shop): Promise<void> {
  await session.query('begin');
  const context = "select set_config('eligo.account_id', $1, true), set_config('eligo.test_mode', 'true', true)";
  await session.query(context, [accountId]);
}

// The statements of the release before, which holds a product by its key alone and writes the copies of a price itself.
const holdAsBefore =
  'select active from products where account_id = $1 and test_mode and product_id = $2 for key share';
const insertAsBefore = `insert into prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
    unit_amount_cents, created_at, updated_at)
  values ($1, true, $2, $3, $4, $5, 1, now(), now()) returning product_active as active, product_eligibility_key as class, listing`;
const lockAsBefore = 'select from products where account_id = $1 and test_mode and product_id = $2 for update';
const updateAsBefore = `update products r set active = $3, hsa_fsa_eligibility = $4, pending = r.pending and not $3
  where r.account_id = $1 and r.test_mode and r.product_id = $2`;

async function changeAsBefore(shop: Shop, productId: string, active: boolean, eligibility: string | null = null) {
  await begin(shop);
  await session.query(lockAsBefore, [shop.accountId, productId]);
  await session.query(updateAsBefore, [shop.accountId, productId, active, eligibility]);
  await session.query('commit');
}

/** An account whose product of many prices has been archived, and then another one of 200 prices. */
async function openShopOfTwoArchived(): Promise<{ shop: Shop; productId: string }> {
  const { shop, productId } = await openShopOfMany(on, many);
  const other = await many.makeProduct(shop);
  await many.givePrices(shop, other, { first: 3_001, last: 3_200 });
  await many.setActive(shop, productId, false);
  await many.setActive(shop, other, false);
  return { shop, productId };
}

describe('a process of the release before, on this schema', () => {
  it('changes the state of a product with all of its prices, at once [D14.343]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await changeAsBefore(shop, productId, false, 'vision');
    expect(await many.standing(shop)).toEqual(hidden);
    await changeAsBefore(shop, productId, true);
    expect(await many.standing(shop)).toEqual(whole);
  });

  it('does so while the prices follow a change by a process of this release, whose job then has nothing to do [D14.343]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    await many.run();
    await changeAsBefore(shop, productId, true, 'service');
    expect(await many.standing(shop)).toEqual(whole);
    await many.setActive(shop, productId, false);
    await changeAsBefore(shop, productId, false, 'vision');
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('creates a price with the copies that its statement has, and the price has the state of its product [D14.343]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const { accountId } = shop;
    await on.gateway.updateProduct({ id: productId, active: false, hsaFsaEligibility: 'vision' }, shop);
    await begin(shop);
    await session.query(holdAsBefore, [accountId, productId]);
    const stale = [accountId, newId('price'), productId, true, ''];
    expect(await session.query(insertAsBefore, stale)).toEqual([{ active: false, class: 'vision', listing: 'hidden' }]);
    await session.query('commit');
    expect(await many.standing(shop)).toMatchObject({ stale: count });
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });
});

describe('at the same time', () => {
  it('a product is archived after the prices that others are creating, and those follow it [D14.341]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const { accountId } = shop;
    await begin(shop);
    await session.query(holdAsBefore, [accountId, productId]);
    await session.query(insertAsBefore, [accountId, newId('price'), productId, true, '']);
    const archived = many.setActive(shop, productId, false);
    await untilLockWait(on.place.admin, 'the archiving to wait for the price');
    await session.query('commit');
    await archived;
    expect(await many.standing(shop)).toMatchObject({ stale: count + 1 });
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('a price that is created while its product is being archived waits, and is hidden [D14.341]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const { accountId } = shop;
    await begin(shop);
    await session.query(lockAsBefore, [accountId, productId]);
    await session.query(updateAsBefore, [accountId, productId, false, null]);
    const owner = { case: 'productId', value: productId } as const;
    const created = on.gateway.createPrice({ unitAmountCents: 1n, owner }, shop);
    await untilLockWait(on.place.admin, 'the price to wait for the product');
    await session.query('commit');
    await created;
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('a product that comes back waits for the page that its job copies, and all of its prices come back [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    armFailpoint('propagate.before_commit', { action: 'pause', skip: 2 });
    const ran = many.runToEnd();
    await failpointReached('propagate.before_commit');
    const back = many.setActive(shop, productId, true);
    await untilLockWait(on.place.admin, 'the product to wait for the page');
    releaseFailpoint('propagate.before_commit');
    await Promise.all([back, ran]);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(whole);
  });

  it('the job waits for a price that a request changes, and copies the state to it as it is then [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const { accountId } = shop;
    await many.setActive(shop, productId, false);
    await begin(shop);
    const activate = 'update prices set active = true where account_id = $1 and test_mode and price_id = $2';
    await session.query(activate, [accountId, idOf(1_596)]);
    const ran = many.run();
    await untilLockWait(on.place.admin, 'the job to wait for the price');
    await session.query('commit');
    await ran;
    await many.setActive(shop, productId, true);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual({ ...whole, active: whole.active + 1, archived: whole.archived - 1 });
  });

  it('two processes share the products of an account, and neither waits for the other [D14.342]', async () => {
    const { shop } = await openShopOfTwoArchived();
    armFailpoint('propagate.before_commit', { action: 'pause' });
    const first = many.run();
    await failpointReached('propagate.before_commit');
    // It passes over the product that the first process is at.
    await many.run();
    expect(await many.standing(shop)).toMatchObject({ stale: count, waiting: 1 });
    releaseFailpoint('propagate.before_commit');
    await first;
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('a page whose process is killed is copied again by another one, from where the page before ended [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    await many.run();
    const own = on.place.open('catalog', { max: 1, applicationName: 'killed' });
    const errors: unknown[] = [];
    const job = propagateProductStates({ database: own }, (error) => errors.push(error));
    armFailpoint('propagate.before_commit', { action: 'pause' });
    const run = job.run(new AbortController().signal);
    await failpointReached('propagate.before_commit');
    await on.place.admin(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'killed'",
    );
    releaseFailpoint('propagate.before_commit');
    await run;
    expect(errors.length).toBeGreaterThan(0);
    expect(await many.standing(shop)).toMatchObject({ stale: count - 500, waiting: 1 });
    await makeDue(shop);
    expect(await many.runToEnd()).toBe(3);
    expect(await many.standing(shop)).toEqual(hidden);
  });
});

/** Ends the pause of an account's products that failed. */
const makeDue = ({ accountId }: Shop) =>
  on.place.admin('update catalog.propagating_products set next_try_at = now() where account_id = $1', [accountId]);

describe('the turns of the job', () => {
  it('are of the accounts and, in an account, of its products: one with many prices holds up no other [D14.342]', async () => {
    const large = await openShopOfMany(on, many);
    const others = await Promise.all(Array.from({ length: 5 }, () => many.makeProduct(large.shop)));
    for (const [index, productId] of others.entries())
      await many.givePrices(large.shop, productId, { first: 3_001 + 200 * index, last: 3_200 + 200 * index });
    const small = on.account();
    const productId = await many.makeProduct(small);
    await many.givePrices(small, productId, { last: 101 });
    await many.setActive(large.shop, large.productId, false);
    for (const other of others) await many.setActive(large.shop, other, false);
    await many.setActive(small, productId, false);
    const job = propagateProductStates({ database: on.database }, (error) => {
      throw error;
    });
    await many.run(job);
    expect(await many.standing(small)).toEqual(hidden);
    // A page of the first product, and three of the others.
    expect(await many.standing(large.shop)).toMatchObject({ stale: count - 500 + 2 * 200, waiting: 3 });
    await many.run(job);
    expect(await many.standing(large.shop)).toMatchObject({ stale: count - 2 * 500, waiting: 1 });
    await many.runToEnd(job);
    expect(await many.standing(large.shop)).toEqual(hidden);
  });

  it('puts a product that fails off, longer each time, counts the run as failed and goes on with the others [D14.342]', async () => {
    const { shop, productId } = await openShopOfTwoArchived();
    await on.place.admin(
      `create function catalog.test_refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
       create trigger test_refuse before update on catalog.prices for each row
         when (old.account_id = '${shop.accountId}' and old.price_id = '${idOf(count)}') execute function catalog.test_refuse()`,
    );
    const errors: unknown[] = [];
    const job = propagateProductStates({ database: on.database }, (error) => errors.push(error));
    const pauses: number[] = [];
    for (let tries = 1; tries <= 5; tries += 1) {
      await makeDue(shop);
      expect(await job.run(new AbortController().signal)).toBeInstanceOf(PartlyFailed);
      expect(errors).toHaveLength(tries);
      const [row] = await on.place.admin<{ pause: number }>(
        `select extract(epoch from next_try_at - now())::float8 as pause from catalog.propagating_products
         where account_id = $1 and product_id = $2 and tries = $3`,
        [shop.accountId, productId, tries],
      );
      pauses.push(row?.pause ?? 0);
    }
    for (const [index, pause] of [10, 60, 300, 1_800, 1_800].entries()) {
      expect(pauses[index]).toBeGreaterThan(pause - 10);
      expect(pauses[index]).toBeLessThanOrEqual(pause);
    }
    expect(await many.standing(shop)).toMatchObject({ stale: count, waiting: 1 });
    await on.place.admin('drop function catalog.test_refuse() cascade');
    await makeDue(shop);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('puts no product off that has changed, or had another turn, since its turn that failed began [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const scope = { accountId: shop.accountId, testMode: true };
    await many.setActive(shop, productId, false);
    const isPutOff = async (due: Awaited<ReturnType<typeof dueProducts>>) => {
      for (const product of due)
        await withTx(on.database, scope, (tx) => putOffPropagation(tx, scope, product, [60_000]));
      return (await dueProducts(on.database, scope, 1)).length === 0;
    };
    const before = await dueProducts(on.database, scope, 1);
    expect(before).toMatchObject([{ productId, tries: 0 }]);
    await many.setActive(shop, productId, true);
    expect(await isPutOff(before)).toBe(false);
    const after = await dueProducts(on.database, scope, 1);
    expect(await isPutOff(after)).toBe(true);
    await makeDue(shop);
    expect(await isPutOff(after)).toBe(false);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(whole);
  });

  it('copies a fourth of a page after each failure, so that a page that is too much for a statement is not repeated as it was [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await many.setActive(shop, productId, false);
    const sizes: number[] = [];
    for (const tries of [1, 2, 3, 4, 5, 0]) {
      const before = await many.standing(shop);
      await on.place.admin('update catalog.propagating_products set tries = $2 where account_id = $1', [
        shop.accountId,
        tries,
      ]);
      await many.run();
      sizes.push(before.stale - (await many.standing(shop)).stale);
    }
    expect(sizes).toEqual([125, 31, 7, 1, 1, 500]);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });
});

it('the job is woken by the commit of the change [D14.342]', async () => {
  const { shop, productId } = await openShopOfMany(on, many);
  let runs = 0;
  const jobs = prepareJobs([propagateProductStates({ database: on.database }, () => undefined)], {
    logger: createLogger({ service: 'catalog', level: 'silent' }),
    observer: {
      ran() {
        runs += 1;
      },
    },
  });
  wakeJobsOf(on.database, jobs);
  jobs.start();
  try {
    await waitUntil(async () => runs > 0, {
      what: 'the first run, after which the next one by itself is a minute later',
    });
    await many.setActive(shop, productId, false);
    await waitUntil(async () => (await many.standing(shop)).waiting === 0, { what: 'the job to end' });
  } finally {
    await jobs.stop();
  }
  expect(await many.standing(shop)).toEqual(hidden);
});

describe('the tables', () => {
  it('refuse a price that does not have the state of its product [D14.344]', async () => {
    const { shop } = await openShopOfMany(on, many);
    for (const change of ['product_active = false', "product_eligibility_key = 'vision'"]) {
      const changed = on.place.admin(`update catalog.prices set ${change} where account_id = $1 and price_id = $2`, [
        shop.accountId,
        idOf(1),
      ]);
      await expect(changed).rejects.toThrow(/does not have the state of its product/);
    }
  });

  it('keep a product among those that propagate until all of its prices have its state, and pass no price before [D14.344]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    const of = [shop.accountId, productId];
    await many.setActive(shop, productId, false);
    await many.run();
    const where = 'where account_id = $1 and product_id = $2';
    for (const text of [
      `delete from catalog.propagating_products ${where}`,
      `update catalog.propagating_products set from_price_id = '${idOf(1_000)}' ${where}`,
    ]) {
      await expect(on.place.admin(text, of)).rejects.toThrow(/do not have its state yet/);
    }
    await on.place.admin(`update catalog.propagating_products set from_price_id = '~' ${where}`, of);
    await many.runToEnd();
    expect(await many.standing(shop)).toEqual(hidden);
  });

  it('say how long ago the oldest change was that not all prices have, also when the product has changed again [D14.342]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    expect(await propagationLagSeconds(on.database)).toBe(0);
    await many.setActive(shop, productId, false);
    await on.place.admin("update catalog.propagating_products set created_at = now() - interval '1 hour'");
    await many.setActive(shop, productId, true);
    const lag = await propagationLagSeconds(on.database);
    expect(lag).toBeGreaterThanOrEqual(3_600);
    expect(lag).toBeLessThan(3_700);
    await many.runToEnd();
    expect(await propagationLagSeconds(on.database)).toBe(0);
  });

  it('leave prices to the job only in the transaction that says so [D14.344]', async () => {
    const { shop, productId } = await openShopOfMany(on, many);
    await on.place.admin(
      'insert into catalog.propagating_products (account_id, test_mode, product_id) values ($1, true, $2)',
      [shop.accountId, productId],
    );
    await on.place.admin('update catalog.products set active = false where account_id = $1', [shop.accountId]);
    expect(await many.standing(shop)).toEqual(hidden);
  });
});
