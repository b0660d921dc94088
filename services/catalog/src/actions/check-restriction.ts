import type { Db, Scope } from '@eligo/postgres';
import type { CouponFields } from '../domain/coupon.ts';
import type { Loc } from '../domain/field-rules.ts';
import { badReference } from '../domain/reference.ts';
import { findPrices } from '../store/prices.ts';
import { findProducts } from '../store/products.ts';

/** Refuses a coupon whose `applies_to` names what the account does not have. `loc` is where that stands in the body. */
export async function checkRestriction(
  db: Db,
  scope: Scope,
  { productIds, priceIds }: CouponFields,
  loc: Loc,
): Promise<void> {
  if (productIds.length > 0) {
    const known = new Set((await findProducts(db, scope, productIds)).map(({ productId }) => productId));
    refuseUnknown(productIds, known, [...loc, 'products'], 'product_not_found');
  }
  if (priceIds.length > 0) {
    const known = new Set((await findPrices(db, scope, priceIds)).map(({ priceId }) => priceId));
    refuseUnknown(priceIds, known, [...loc, 'prices'], 'price_not_found');
  }
}

function refuseUnknown(
  ids: readonly string[],
  known: ReadonlySet<string>,
  loc: Loc,
  code: 'product_not_found' | 'price_not_found',
): void {
  for (const [index, id] of ids.entries()) {
    if (!known.has(id)) throw badReference([...loc, String(index)], code, id);
  }
}
