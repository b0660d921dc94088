import { newId } from '@eligo/values';
import { propagateProductStates } from '../src/jobs/propagate-products.ts';
import type { Fixture, Shop } from './fixture.ts';

/** How many active prices a product of a test has: four pages of the job, of which the last one is short. */
export const count = 1_600;

export const idOf = (number: number): string => `fprice_${String(number).padStart(26, '0')}`;

/** What tests of products with many prices do. */
export interface Propagation {
  makeProduct(shop: Shop): Promise<string>;
  /** Gives the product active prices, numbered from `first` to `last`. `metadata` is SQL of the pairs of price `n`. */
  givePrices(shop: Shop, productId: string, prices: GivenPrices): Promise<void>;
  setActive(shop: Shop, productId: string, active: boolean): Promise<unknown>;
  /** A cart of one line. */
  resolve(
    shop: Shop,
    item: object,
    sessionId?: string,
  ): Promise<{ lines: { price?: { priceId: string } | undefined }[] }>;
  /** One run of a job. Resolves with whether there is more to do. */
  run(job?: Runs): Promise<boolean>;
  runToEnd(job?: Runs): Promise<number>;
  standing(shop: Shop): Promise<Standing>;
}

export interface GivenPrices {
  readonly first?: number;
  readonly last: number;
  readonly metadata?: string;
  readonly inline?: boolean;
}

/**
 * What there is of an account's prices: how many are in each list, how many do not have the state of their product, and how many products
 * propagate.
 */
export interface Standing {
  readonly active: number;
  readonly archived: number;
  readonly stale: number;
  readonly waiting: number;
}

/** A job, as a test runs it. */
export type Runs = ReturnType<typeof propagateProductStates>;

export function openPropagation(on: Fixture): Propagation {
  const job = () => propagateProductStates({ database: on.database }, fail);
  const run = async (of: Runs = job()) => {
    const result = await of.run(new AbortController().signal);
    if (result === true) return true;
    const { dueInMs } = result as { dueInMs: number | undefined };
    return dueInMs !== undefined && dueInMs <= 0;
  };
  return {
    run,
    makeProduct: async (shop) => (await on.gateway.createProduct({ product: { name: 'p' } }, shop)).productId,
    async givePrices(shop, productId, { first = 1, last, metadata = "'{}'", inline = false }) {
      await on.place.admin(
        `insert into catalog.prices (account_id, test_mode, price_id, product_id, product_active, product_eligibility_key,
           unit_amount_cents, inline, metadata, created_at, updated_at)
         select $1, true, 'fprice_' || lpad(n::text, 26, '0'), $2, true, '', n, $3, ${metadata}, now(), now()
         from generate_series(${first}, ${last}) n`,
        [shop.accountId, productId, inline],
      );
    },
    setActive: (shop, productId, active) => on.gateway.updateProduct({ id: productId, active }, shop),
    resolve: (shop, item, sessionId = newId('checkout_session')) =>
      on.checkout.resolveCart({ sessionId, lines: [{ item, quantity: 1n }] } as never, shop.atCheckout),
    async runToEnd(of = job()) {
      for (let runs = 1; ; runs += 1) if (!(await run(of))) return runs;
    },
    async standing({ accountId }) {
      const [row] = await on.place.admin<Standing & Record<string, unknown>>(
        `select count(*) filter (where p.listing = 'active')::int as active,
           count(*) filter (where p.listing = 'archived')::int as archived,
           count(*) filter (where p.product_active <> r.active or p.product_eligibility_key <> r.eligibility_key)::int as stale,
           (select count(*)::int from catalog.propagating_products g where g.account_id = $1) as waiting
         from catalog.prices p join catalog.products r using (account_id, test_mode, product_id) where account_id = $1`,
        [accountId],
      );
      if (row === undefined) throw new Error('A count returned no row');
      return { active: row.active, archived: row.archived, stale: row.stale, waiting: row.waiting };
    },
  };
}

function fail(error: unknown): never {
  throw error;
}

/** An account with a product of `count` prices. Every seventh is archived itself; all have a pair in common, and one of twenty has another. */
export async function openShopOfMany(
  on: Fixture,
  { makeProduct, givePrices }: Propagation,
): Promise<{ shop: Shop; productId: string }> {
  const shop = on.account();
  const productId = await makeProduct(shop);
  await givePrices(shop, productId, { last: count, metadata: "jsonb_build_object('a', 'x', 'b', (n % 20)::text)" });
  await on.place.admin(
    'update catalog.prices set active = false where account_id = $1 and right(price_id, 6)::int % 7 = 0',
    [shop.accountId],
  );
  return { shop, productId };
}

/** How the prices of such a product stand while the product is active, and while it is archived. */
export const whole: Standing = { active: 1_372, archived: 228, stale: 0, waiting: 0 };
export const hidden: Standing = { active: 0, archived: 0, stale: 0, waiting: 0 };
