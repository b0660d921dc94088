import type { Db, Scope } from '@eligo/postgres';
import type { CouponFields } from '../domain/coupon.ts';
import type { Loc } from '../domain/field-rules.ts';
import { badReference } from '../domain/reference.ts';
import { findPrices } from '../store/prices.ts';
import { findProducts } from '../store/products.ts';

/** Refuses a coupon whose `applies_to` names what the account does not have. `loc` is where that stands in the body. */
export function checkRestriction(db: Db, scope: Scope, fields: CouponFields, loc: Loc): Promise<void> {
  return checkRestrictions(db, scope, [{ fields, loc }]);
}

/** The same for many coupons, with one read of each kind. The first that is wrong is refused. */
export async function checkRestrictions(
  db: Db,
  scope: Scope,
  coupons: readonly { readonly fields: CouponFields; readonly loc: Loc }[],
): Promise<void> {
  const productIds = [...new Set(coupons.flatMap(({ fields }) => fields.productIds))];
  const priceIds = [...new Set(coupons.flatMap(({ fields }) => fields.priceIds))];
  const products = productIds.length === 0 ? [] : await findProducts(db, scope, productIds);
  const prices = priceIds.length === 0 ? [] : await findPrices(db, scope, priceIds);
  const knownProducts = new Set(products.map(({ productId }) => productId));
  const knownPrices = new Set(prices.map(({ priceId }) => priceId));
  for (const { fields, loc } of coupons) {
    refuseUnknown(fields.productIds, knownProducts, [...loc, 'products'], 'product_not_found');
    refuseUnknown(fields.priceIds, knownPrices, [...loc, 'prices'], 'price_not_found');
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
