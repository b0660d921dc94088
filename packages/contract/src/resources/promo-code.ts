import type { PromoCode } from '@eligo/proto/catalog/v1/catalog';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { couponSchema, renderCoupon } from './coupon.ts';

export const promoCodeSchema = z.strictObject({
  promo_code_id: idOf('promo_code'),
  code: z.string(),
  coupon: couponSchema.nullable(),
  customer: expandable('customer').nullable(),
  max_redemptions: z.int().nullable(),
  times_redeemed: z.int(),
  active: z.boolean(),
  expires_at: answer.time.nullable(),
  metadata: answer.metadata,
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const promoCodeReferences: References<PromoCode> = {
  customer: { kind: 'customer', ids: (code) => [code.customerId] },
};

export function renderPromoCode(code: PromoCode, expansion: Expansion = noExpansion): z.infer<typeof promoCodeSchema> {
  return {
    promo_code_id: code.promoCodeId,
    code: code.code,
    coupon: code.coupon === undefined ? null : renderCoupon(code.coupon),
    customer: expansion.of('customer', code.customerId),
    max_redemptions: code.maxRedemptions ?? null,
    times_redeemed: code.timesRedeemed,
    active: code.active,
    expires_at: code.expiresAtMs === undefined ? null : isoTime(code.expiresAtMs),
    metadata: code.metadata,
    test_mode: code.testMode,
    created_at: isoTime(code.createdAtMs),
  };
}
