import { type Database, leaseFromNow, leaseIsOver, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf, wakeJobAfterCommit } from '@eligo/service';
import type { Product } from '../domain/product.ts';

/** The job that copies the state of products that changed to their prices. */
export const propagateProductsJob = 'propagate-products';

/** SQL that says whether the prices of a product of the account follow a change of it. It is asked once for a statement. */
export const isPropagatingText =
  'exists (select from propagating_products g where g.account_id = $1 and g.test_mode = $2)';

/**
 * Leaves the prices of a product to the job where they are more than a request may change. Called before the change of the product, in its
 * transaction, under the lock of its row. The prices of another product change with it (migrations/0030).
 */
export async function leaveManyPrices(tx: Tx, scope: Scope, productId: string): Promise<void> {
  if ((await tx.execute(leave, scope, [productId])) > 0) wakeJobAfterCommit(tx, propagateProductsJob);
}

/** The accounts after a place whose products propagate, at most `most`. */
export async function propagationTurns(database: Database, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await database.rows(turns, null, [after.accountId, after.testMode, most]), most);
}

/** How long until a product of any account is due, negative when one is; undefined when none propagates. */
export async function nextPropagationInMs(database: Database): Promise<number | undefined> {
  return (await database.row(next, null))?.due_in_ms ?? undefined;
}

/** How long ago the product changed whose prices have followed it for the longest; 0 when none propagates. */
export async function propagationLagSeconds(database: Database): Promise<number> {
  return (await database.row(lag, null))?.seconds ?? 0;
}

/** A product whose turn it is, as it was read. */
export interface DueProduct {
  readonly productId: string;
  readonly tries: number;
  readonly changedBy: string;
}

/** The products of an account whose turn it is, those first that have waited the longest. */
export function dueProducts(database: Database, scope: Scope, most: number): Promise<DueProduct[]> {
  return database.rows(findDue, scope, [most]);
}

/** Where a product's propagation is. */
export interface Propagation {
  /** The prices from this one on have the state of the product. */
  readonly fromPriceId: string;
  /** How often in a row its turn failed. */
  readonly tries: number;
}

/** The product's propagation, locked until the transaction ends; undefined if another process has it or none propagates. */
export function claimPropagation(tx: Tx, scope: Scope, productId: string): Promise<Propagation | undefined> {
  return tx.row(claim, scope, [productId]);
}

/**
 * Copies the product's state to the page of its prices before this one, which is smaller after each failure. Returns the first of the page;
 * undefined if that was the last page.
 */
export async function copyState(
  tx: Tx,
  scope: Scope,
  { productId, active, hsaFsaEligibility }: Product,
  { fromPriceId, tries }: Propagation,
): Promise<string | undefined> {
  const part = 4 ** Math.min(tries, mostDivided);
  const page = await tx.rows(findPage, scope, [productId, fromPriceId, part]);
  const ids = page.map(({ priceId }) => priceId);
  if (ids.length > 0) await tx.execute(copy, scope, [ids, active, hsaFsaEligibility ?? '']);
  return page.at(-1)?.isLast === false ? ids.at(-1) : undefined;
}

/** Goes on from this price in the product's next turn, after the account's other products had theirs. */
export async function continuePropagation(tx: Tx, scope: Scope, productId: string, from: string): Promise<void> {
  await tx.execute(move, scope, [productId, from]);
}

export async function endPropagation(tx: Tx, scope: Scope, productId: string): Promise<void> {
  await tx.execute(end, scope, [productId]);
}

/**
 * Puts a product off whose turn failed: for a pause for each failure in a row, of which the last one is for all that follow. One that has changed or
 * had another turn since it was read keeps its time.
 */
export async function putOffPropagation(
  tx: Tx,
  scope: Scope,
  { productId, tries, changedBy }: DueProduct,
  pausesMs: readonly number[],
): Promise<void> {
  await tx.execute(putOff, scope, [productId, pausesMs, tries, changedBy]);
}

// 33 blocks each. A request that changes so many takes some ten milliseconds more.
const pricesOfRequest = 100;
// What one transaction changes: an update of the product or of one of these prices waits for it, some 30 ms.
const pricesOfPage = 500;
// Each pair of a price is deleted and inserted again, and a price can have 50: the pairs of a page take some 200 ms.
const pairsOfPage = 2_000;
// After a failure a page has a fourth of both, and at last a single price.
const mostDivided = 4;

const ofProduct = 'g.account_id = $1 and g.test_mode = $2 and g.product_id = $3';

const leave = scoped(
  'propagating_products.leave',
  `insert into propagating_products as g (account_id, test_mode, product_id)
   select $1, $2, $3 where exists (
     select from prices p where p.account_id = $1 and p.test_mode = $2 and p.product_id = $3 order by p.price_id offset ${pricesOfRequest} limit 1)
   on conflict (account_id, test_mode, product_id) do update
     set from_price_id = excluded.from_price_id, changed_by = excluded.changed_by, tries = 0, next_try_at = excluded.next_try_at`,
);
const turns = unscoped<TurnRow>(
  'propagating_products.turns',
  'select account_id, test_mode, is_due from propagation_turns($1, $2, $3)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'propagating_products.next',
  'select extract(epoch from next_propagation() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const lag = unscoped<{ seconds: number | null }>(
  'propagating_products.lag',
  'select propagation_lag_seconds() as seconds',
);
const findDue = scoped<DueProduct>(
  'propagating_products.find_due',
  `select g.product_id as "productId", g.tries, g.changed_by::text as "changedBy" from propagating_products g
   where g.account_id = $1 and g.test_mode = $2 and g.next_try_at <= now() order by g.next_try_at limit $3`,
);
const claim = scoped<Propagation>(
  'propagating_products.claim',
  `select g.from_price_id as "fromPriceId", g.tries from propagating_products g where ${ofProduct} for update skip locked`,
);
// The page ends with the price that reaches the bound, so that it has one at least.
const findPage = scoped<{ priceId: string; isLast: boolean }>(
  'propagating_products.find_page',
  `select page.price_id as "priceId", page.number = page.looked_at and page.looked_at < ${pricesOfPage} as "isLast"
   from (
     select m.price_id, row_number() over newest as number, sum(m.pairs) over newest - m.pairs as pairs_before,
       count(*) over () as looked_at
     from (
       select p.price_id, (select count(*) from jsonb_object_keys(p.metadata)) as pairs from prices p
       where p.account_id = $1 and p.test_mode = $2 and p.product_id = $3 and p.price_id < $4 order by p.price_id desc limit ${pricesOfPage}) m
     window newest as (order by m.price_id desc rows unbounded preceding)) page
   where page.number <= ${pricesOfPage} / $5::integer and page.pairs_before < ${pairsOfPage} / $5::integer
   order by page.price_id desc`,
);
// A price that a request changes at this moment is waited for, and then looked at as it is.
const copy = scoped(
  'propagating_products.copy',
  `update prices p set product_active = $4, product_eligibility_key = $5
   where p.account_id = $1 and p.test_mode = $2 and p.price_id = any($3::text[])
     and (p.product_active, p.product_eligibility_key) is distinct from ($4, $5)`,
);
const move = scoped(
  'propagating_products.move',
  `update propagating_products g set from_price_id = $4, tries = 0, next_try_at = ${leaseIsOver} where ${ofProduct}`,
);
const end = scoped('propagating_products.end', `delete from propagating_products g where ${ofProduct}`);
const putOff = scoped(
  'propagating_products.put_off',
  `update propagating_products g set tries = g.tries + 1,
     next_try_at = ${leaseFromNow('($4::bigint[])[least(g.tries + 1, cardinality($4::bigint[]))]')}
   where ${ofProduct} and g.tries = $5 and g.changed_by = $6::text::xid8`,
);
