import { Failure } from '@eligo/failures';
import { checkAmount, checkCount, type Loc, type Metadata } from './field-rules.ts';

export type CouponDuration = 'once' | 'repeating' | 'forever';

/** Money off, for every line or for those of some products or prices. */
export interface Coupon {
  readonly couponId: string;
  readonly name: string | null;
  readonly amountOffCents: bigint | null;
  /** Hundredths of a percent. */
  readonly percentOffBasisPoints: number | null;
  readonly duration: CouponDuration;
  readonly durationInMonths: number | null;
  readonly maxRedemptions: number | null;
  readonly timesRedeemed: number;
  readonly productIds: readonly string[];
  readonly priceIds: readonly string[];
  readonly inline: boolean;
  readonly metadata: Metadata;
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
}

/** What a creation gives. */
export interface CouponInput {
  readonly name: string | null;
  readonly amountOffCents: bigint | null;
  readonly percentOffBasisPoints: number | null;
  readonly duration: string | null;
  readonly durationInMonths: number | null;
  readonly maxRedemptions: number | null;
  readonly productIds: readonly string[];
  readonly priceIds: readonly string[];
  readonly metadata: Metadata;
}

/** A creation that was checked. */
export type CouponFields = Omit<CouponInput, 'duration'> & { readonly duration: CouponDuration };

/** Whether the coupon can be redeemed once more (the database counts limits; this is the value shown to clients). */
export function isCouponValid(coupon: Coupon): boolean {
  return coupon.deletedAt === null && (coupon.maxRedemptions === null || coupon.timesRedeemed < coupon.maxRedemptions);
}

/** Whether the coupon takes something off at least one of these lines; without lines it takes nothing off. */
export function appliesToSome(coupon: Coupon, lines: readonly { priceId: string; productId: string }[]): boolean {
  if (coupon.productIds.length === 0 && coupon.priceIds.length === 0) return lines.length > 0;
  return lines.some(
    ({ priceId, productId }) => coupon.priceIds.includes(priceId) || coupon.productIds.includes(productId),
  );
}

/** Checks what a creation gives. `loc` is where the coupon stands in the body. */
export function newCouponFields(input: CouponInput, loc: Loc): CouponFields {
  const { amountOffCents, percentOffBasisPoints } = input;
  if ((amountOffCents === null) === (percentOffBasisPoints === null)) {
    throw Failure.invalid([...loc, 'amount_off'], 'invalid_value', 'Send either amount_off or percent_off');
  }
  if (amountOffCents !== null) checkAmount(amountOffCents, [...loc, 'amount_off']);
  if (percentOffBasisPoints !== null && (percentOffBasisPoints < 1 || percentOffBasisPoints > 10_000)) {
    throw Failure.invalid([...loc, 'percent_off'], 'out_of_range', 'Must be more than 0 and at most 100');
  }
  if (input.productIds.length > 0 && input.priceIds.length > 0) {
    throw Failure.invalid([...loc, 'applies_to'], 'invalid_value', 'Send either products or prices');
  }
  checkCount(input.maxRedemptions, [...loc, 'max_redemptions']);
  const duration = readDuration(input, loc);
  return {
    ...input,
    duration,
    productIds: [...new Set(input.productIds)],
    priceIds: [...new Set(input.priceIds)],
  };
}

function readDuration(input: CouponInput, loc: Loc): CouponDuration {
  const duration = input.duration ?? 'once';
  if (duration !== 'once' && duration !== 'repeating' && duration !== 'forever') {
    throw Failure.invalid([...loc, 'duration'], 'invalid_value', 'Must be once, repeating or forever');
  }
  checkCount(input.durationInMonths, [...loc, 'duration_in_months']);
  if ((duration === 'repeating') !== (input.durationInMonths !== null)) {
    throw Failure.invalid(
      [...loc, 'duration_in_months'],
      'invalid_value',
      'Required with duration repeating; otherwise leave it out',
    );
  }
  return duration;
}
