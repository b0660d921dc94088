import { type Database, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** A coupon that a session brought and that still waits for the session. */
export interface AbandonedCoupon {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly sessionId: string;
  readonly discountIndex: number;
  readonly couponId: string;
}

/** Coupons of all accounts that were made before this time and whose session has not kept them, the oldest first. */
export function findAbandonedCoupons(database: Database, madeBefore: Date, most: number): Promise<AbandonedCoupon[]> {
  return database.rows(find, null, [madeBefore, most]);
}

/** Removes the coupon and what says whose it was; nothing of it if the session has kept it, or it was counted, meanwhile. */
export async function removeAbandonedCoupon(tx: Tx, scope: Scope, coupon: AbandonedCoupon): Promise<boolean> {
  if ((await tx.execute(deleteCoupon, scope, [coupon.couponId])) === 0) return false;
  await tx.execute(deleteClaim, scope, [coupon.sessionId, coupon.discountIndex]);
  return true;
}

const find = unscoped<AbandonedCoupon>(
  'inline_coupons.find_abandoned',
  `select account_id as "accountId", test_mode as "testMode", session_id as "sessionId", discount_index as "discountIndex",
     coupon_id as "couponId"
   from find_abandoned_coupons($1, $2::integer)`,
);
const deleteCoupon = scoped(
  'inline_coupons.delete_coupon',
  'delete from coupons where account_id = $1 and test_mode = $2 and coupon_id = $3 and pending',
);
const deleteClaim = scoped(
  'inline_coupons.delete',
  'delete from inline_coupons where account_id = $1 and test_mode = $2 and session_id = $3 and discount_index = $4',
);
