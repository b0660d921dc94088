import type { Coupon } from '@eligo/proto/catalog/v1/catalog';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { expandsTo } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const couponSchema = expandsTo(
  'coupon',
  z.strictObject({
    coupon_id: idOf('coupon'),
    name: answer.text,
    amount_off: answer.cents.nullable(),
    percent_off: z.number().nullable(),
    duration: z.enum(['once', 'repeating', 'forever']),
    duration_in_months: z.int().nullable(),
    max_redemptions: z.int().nullable(),
    times_redeemed: z.int(),
    applies_to: z.strictObject({ products: z.array(z.string()), prices: z.array(z.string()) }),
    valid: z.boolean(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
  }),
);

/** `percent_off` is a whole percent: 30 means 30 % (interface, Other endpoints). */
export function renderCoupon(coupon: Coupon): z.infer<typeof couponSchema> {
  return {
    coupon_id: coupon.couponId,
    name: coupon.name ?? null,
    amount_off: coupon.amountOffCents === undefined ? null : centsFromInt64(coupon.amountOffCents),
    percent_off: coupon.percentOffBasisPoints === undefined ? null : coupon.percentOffBasisPoints / 100,
    duration: coupon.duration as 'once' | 'repeating' | 'forever',
    duration_in_months: coupon.durationInMonths ?? null,
    max_redemptions: coupon.maxRedemptions ?? null,
    times_redeemed: coupon.timesRedeemed,
    applies_to: { products: coupon.appliesTo?.products ?? [], prices: coupon.appliesTo?.prices ?? [] },
    valid: coupon.valid,
    metadata: coupon.metadata,
    test_mode: coupon.testMode,
    created_at: isoTime(coupon.createdAtMs),
  };
}
