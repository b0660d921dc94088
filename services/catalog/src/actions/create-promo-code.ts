import { Failure } from '@eligo/failures';
import { isUniqueViolation, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { newPromoCodeFields, type PromoCode, type PromoCodeInput } from '../domain/promo-code.ts';
import { badReference } from '../domain/reference.ts';
import { findCoupon } from '../store/coupons.ts';
import { findPromoCode, insertPromoCode } from '../store/promo-codes.ts';

export async function createPromoCode(
  { database, clock }: Context,
  { scope }: Asker,
  input: PromoCodeInput,
): Promise<PromoCode> {
  const loc = ['body', 'promo_code'];
  const fields = newPromoCodeFields(input, loc);
  return refusingTakenCode(() =>
    withTx(database, scope, async (tx) => {
      const coupon = await findCoupon(tx, scope, fields.couponId);
      // A deleted coupon takes no new redemptions, so a code for it would be dead from the start.
      if (coupon === undefined || coupon.inline || coupon.deletedAt !== null) {
        throw badReference([...loc, 'coupon_id'], 'coupon_not_found', fields.couponId);
      }
      const promoCodeId = newId('promo_code');
      await insertPromoCode(tx, scope, promoCodeId, fields, clock.now());
      const made = await findPromoCode(tx, scope, promoCodeId);
      if (made === undefined) throw new Error('Inserting a promo code returned no row');
      return made;
    }),
  );
}

/** Runs a write and turns the unique index's word into the refusal: one active code of a name, whatever its case. */
export async function refusingTakenCode<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'promo_codes_active_code')) throw new Failure('promo_code_in_use', { cause: error });
    throw error;
  }
}
