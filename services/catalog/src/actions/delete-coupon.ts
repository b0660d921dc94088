import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Coupon } from '../domain/coupon.ts';
import { deleteCoupon as remove } from '../store/coupons.ts';

/** Stops new redemptions; what was redeemed stays, and so does the record. Doing it again changes nothing. */
export async function deleteCoupon({ database, clock }: Context, { scope }: Asker, id: string): Promise<Coupon> {
  const coupon = await withTx(database, scope, (tx) => remove(tx, scope, id, clock.now()));
  if (coupon === undefined) throw new Failure('coupon_not_found');
  return coupon;
}
