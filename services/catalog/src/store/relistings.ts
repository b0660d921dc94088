import { type Database, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** A product that was archived or put up for sale again, and has too many prices to list them anew at once. */
export interface Relisting extends Scope {
  readonly productId: string;
}

/** Products of all accounts whose prices are to be listed anew. */
export function findRelistings(database: Database, most: number): Promise<Relisting[]> {
  return database.rows(find, null, [most]);
}

/** Up to which of the hidden prices a product's are listed anew, held against other processes; undefined when one of them is at it, or none is to be. */
export async function claimRelisting(tx: Tx, scope: Scope, productId: string): Promise<string | undefined> {
  return (await tx.row(claim, scope, [productId]))?.afterPriceId;
}

/** Hides so many of an archived product's prices that are listed. Answers how many it hid. */
export function hideListedPrices(tx: Tx, scope: Scope, productId: string, most: number): Promise<number> {
  return tx.execute(hide, scope, [productId, most]);
}

/** Whether the product has a price in a list. */
export async function hasListedPrice(tx: Tx, scope: Scope, productId: string): Promise<boolean> {
  return (await tx.row(findListed, scope, [productId])) !== undefined;
}

/** Lists the next of the product's hidden prices as the product is. Answers the ids that it looked at. */
export async function relistHiddenPrices(
  tx: Tx,
  scope: Scope,
  part: { readonly productId: string; readonly after: string; readonly isActive: boolean; readonly most: number },
): Promise<readonly string[]> {
  const rows = await tx.rows(findHidden, scope, [part.productId, part.after, part.most]);
  const ids = rows.map(({ priceId }) => priceId);
  if (ids.length > 0) await tx.execute(relist, scope, [ids, part.isActive]);
  return ids;
}

export async function moveRelisting(tx: Tx, scope: Scope, productId: string, afterPriceId: string): Promise<void> {
  await tx.execute(move, scope, [productId, afterPriceId]);
}

export async function endRelisting(tx: Tx, scope: Scope, productId: string): Promise<void> {
  await tx.execute(end, scope, [productId]);
}

const ofProduct = 'r.account_id = $1 and r.test_mode = $2 and r.product_id = $3';

const find = unscoped<Relisting>(
  'relistings.find',
  `select account_id as "accountId", test_mode as "testMode", product_id as "productId" from find_relistings($1::integer)`,
);
const claim = scoped<{ afterPriceId: string }>(
  'relistings.claim',
  `select r.after_price_id as "afterPriceId" from relistings r where ${ofProduct} for update skip locked`,
);
const hide = scoped(
  'relistings.hide',
  `update prices r set product_active = false where r.account_id = $1 and r.test_mode = $2 and r.price_id = any(array(
     (select r.price_id from prices r where ${ofProduct} and r.listing = 'active' order by r.price_id limit $4)
     union all
     (select r.price_id from prices r where ${ofProduct} and r.listing = 'archived' order by r.price_id limit $4)
     limit $4))`,
);
const findListed = scoped<object>(
  'relistings.find_listed',
  `(select from prices r where ${ofProduct} and r.listing = 'active' limit 1)
   union all (select from prices r where ${ofProduct} and r.listing = 'archived' limit 1) limit 1`,
);
const findHidden = scoped<{ priceId: string }>(
  'relistings.find_hidden',
  `select r.price_id as "priceId" from prices r where ${ofProduct} and r.listing = 'hidden' and r.price_id > $4
   order by r.price_id limit $5`,
);
// A price that is put up for sale at this moment is waited for, and then looked at as it is.
const relist = scoped(
  'relistings.relist',
  `update prices r set product_active = $4
   where r.account_id = $1 and r.test_mode = $2 and r.price_id = any($3::text[]) and r.product_active <> $4`,
);
const move = scoped('relistings.move', `update relistings r set after_price_id = $4 where ${ofProduct}`);
const end = scoped('relistings.end', `delete from relistings r where ${ofProduct}`);
