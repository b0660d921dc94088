import { Failure } from '@eligo/failures';
import { type Coupon, isCouponValid } from './coupon.ts';
import { checkCount, indexedTextLength, type Loc, type Metadata } from './field-rules.ts';
import { foldedText } from './folded-text.ts';

/** A word that a shopper types to get a coupon. */
export interface PromoCode {
  readonly promoCodeId: string;
  readonly code: string;
  readonly coupon: Coupon;
  readonly customerId: string | null;
  readonly maxRedemptions: number | null;
  readonly timesRedeemed: number;
  readonly active: boolean;
  readonly expiresAt: Date | null;
  readonly metadata: Metadata;
  readonly createdAt: Date;
}

/** What a creation gives. */
export interface PromoCodeInput {
  readonly couponId: string;
  readonly code: string;
  readonly customerId: string | null;
  readonly maxRedemptions: number | null;
  readonly expiresAt: Date | null;
  readonly active: boolean;
  readonly metadata: Metadata;
}

/** Whether the code may be used at this time by this customer (limits are counted in the database; this says what is known before). */
export function isRedeemable(promoCode: PromoCode, customerId: string | null, at: Date): boolean {
  const { active, expiresAt, maxRedemptions, timesRedeemed } = promoCode;
  return (
    active &&
    (expiresAt === null || expiresAt > at) &&
    (maxRedemptions === null || timesRedeemed < maxRedemptions) &&
    (promoCode.customerId === null || promoCode.customerId === customerId) &&
    isCouponValid(promoCode.coupon)
  );
}

/**
 * The form in which codes are compared: unique among active ones, case-insensitively (decisions 4), and without characters that nobody sees, which
 * come along when a code is copied from a mail.
 */
export function promoCodeKey(code: string): string {
  return foldedText(code.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, ''));
}

/** Checks what a creation gives. `loc` is where the promo code stands in the body. */
export function newPromoCodeFields(input: PromoCodeInput, loc: Loc): PromoCodeInput & { readonly codeKey: string } {
  const codeKey = promoCodeKey(input.code);
  if (codeKey === '') throw Failure.invalid([...loc, 'code'], 'missing', 'A code is required');
  if ([...input.code].length > indexedTextLength || [...codeKey].length > indexedTextLength) {
    throw Failure.invalid([...loc, 'code'], 'too_long', `Must have at most ${indexedTextLength} characters`);
  }
  checkCount(input.maxRedemptions, [...loc, 'max_redemptions']);
  return { ...input, codeKey };
}
