import type { Discount } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { type Expansion, expandable, type Reference } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';
import { renderCoupon } from './coupon.ts';

export const discountSchema = z.strictObject({
  discount_id: idOf('discount'),
  checkout_session: answer.text,
  customer: answer.text,
  subscription: answer.text,
  invoice: answer.text,
  source: z.strictObject({
    coupon: expandable('coupon'),
    type: z.literal('coupon'),
  }),
  promo_code: answer.text,
  test_mode: z.boolean(),
  start: answer.time.nullable(),
  end: answer.time.nullable(),
});

/** A discount carries its coupon: none is fetched. */
export const couponReference: Reference<unknown> = { kind: 'coupon', ids: () => [] };

/** With `expand=discounts,coupons` the coupon stands as it was when the discount was made (interface, Discount). */
export function renderDiscount(discount: Discount, expansion: Expansion): z.infer<typeof discountSchema> {
  const whole = expansion.has('discounts') && expansion.has('coupons') ? discount.coupon : undefined;
  return {
    discount_id: discount.discountId,
    checkout_session: discount.checkoutSessionId ?? null,
    customer: discount.customerId ?? null,
    subscription: discount.subscriptionId ?? null,
    invoice: discount.invoiceId ?? null,
    source: { coupon: whole === undefined ? discount.couponId : renderCoupon(whole), type: 'coupon' },
    promo_code: discount.promoCodeId ?? null,
    test_mode: discount.testMode,
    start: discount.startMs === undefined ? null : isoTime(discount.startMs),
    end: discount.endMs === undefined ? null : isoTime(discount.endMs),
  };
}
