import { type Db, type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { type Coupon, type CouponFields, type CouponInput, newCouponFields } from '../domain/coupon.ts';
import { badReference } from '../domain/reference.ts';
import { insertCoupon } from '../store/coupons.ts';
import { findPrices } from '../store/prices.ts';
import { findProducts } from '../store/products.ts';
import type { Asker, Work } from './work.ts';

export function createCoupon({ database, clock }: Work, { scope }: Asker, input: CouponInput): Promise<Coupon> {
  const fields = newCouponFields(input, ['body', 'coupon']);
  return withTx(database, scope, async (tx) => {
    await checkRestriction(tx, scope, fields);
    return insertCoupon(tx, scope, newId('coupon'), fields, false, clock.now());
  });
}

async function checkRestriction(db: Db, scope: Scope, { productIds, priceIds }: CouponFields): Promise<void> {
  const loc = ['body', 'coupon', 'applies_to'];
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
  loc: readonly string[],
  code: 'product_not_found' | 'price_not_found',
): void {
  for (const [index, id] of ids.entries()) {
    if (!known.has(id)) throw badReference([...loc, String(index)], code, id);
  }
}
