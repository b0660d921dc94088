import { withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { type Coupon, type CouponInput, newCouponFields } from '../domain/coupon.ts';
import { insertCoupon } from '../store/coupons.ts';
import { checkRestriction } from './check-restriction.ts';

export function createCoupon({ database, clock }: Context, { scope }: Asker, input: CouponInput): Promise<Coupon> {
  const fields = newCouponFields(input, ['body', 'coupon']);
  return withTx(database, scope, async (tx) => {
    await checkRestriction(tx, scope, fields, ['body', 'coupon', 'applies_to']);
    return insertCoupon(tx, scope, fields, {
      couponId: newId('coupon'),
      inline: false,
      pending: false,
      at: clock.now(),
    });
  });
}
