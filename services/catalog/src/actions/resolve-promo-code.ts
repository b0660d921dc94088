import { Failure } from '@eligo/failures';
import type { Asker, Context } from '../context.ts';
import { appliesToSome } from '../domain/coupon.ts';
import { isRedeemable, type PromoCode, promoCodeKey } from '../domain/promo-code.ts';
import { findPromoCodes } from '../store/promo-codes.ts';

/** A code that a shopper typed, and what the session sells. */
export interface TypedPromoCode {
  readonly code: string;
  readonly customerId: string | null;
  readonly at: Date;
  readonly lines: readonly { readonly priceId: string; readonly productId: string }[];
}

/**
 * The promo code that a shopper means, with its coupon. A code that does not exist is refused like one that has ended, is used up or is another customer's, so
 * that the answer tells nothing of codes that others have.
 */
export async function resolvePromoCode(
  { database }: Context,
  { scope }: Asker,
  typed: TypedPromoCode,
): Promise<PromoCode> {
  const key = promoCodeKey(typed.code);
  const found = key === '' ? [] : await findPromoCodes(database, scope, [], [key]);
  const promoCode = found.find(({ active }) => active);
  if (promoCode === undefined || !isRedeemable(promoCode, typed.customerId, typed.at)) {
    throw new Failure('promo_code_invalid');
  }
  if (!appliesToSome(promoCode.coupon, typed.lines)) throw new Failure('coupon_not_applicable');
  return promoCode;
}
