import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import type { Expansion } from '../expansion.ts';
import { answer } from '../fields.ts';
import { discountSchema, renderDiscount } from './discount.ts';

export const totalDetailsSchema = z.strictObject({
  amount_discount: answer.cents,
  amount_tax: answer.cents,
  amount_shipping: answer.cents,
  amount_iias: answer.cents,
  amount_vision: answer.cents,
  amount_prescription: answer.cents,
  amount_service: answer.cents,
  amount_fee: answer.cents,
  breakdown: z.strictObject({ discounts: z.array(z.strictObject({ discount: discountSchema })) }),
});

/** The sums of a session; the four eligible buckets are disjoint (decisions 4). */
export function renderTotalDetails(
  { totalDetails, discounts }: CheckoutSession,
  expansion: Expansion,
): z.infer<typeof totalDetailsSchema> {
  return {
    amount_discount: centsFromInt64(totalDetails?.amountDiscountCents ?? 0n),
    amount_tax: centsFromInt64(totalDetails?.amountTaxCents ?? 0n),
    amount_shipping: centsFromInt64(totalDetails?.amountShippingCents ?? 0n),
    amount_iias: centsFromInt64(totalDetails?.amountIiasCents ?? 0n),
    amount_vision: centsFromInt64(totalDetails?.amountVisionCents ?? 0n),
    amount_prescription: centsFromInt64(totalDetails?.amountPrescriptionCents ?? 0n),
    amount_service: centsFromInt64(totalDetails?.amountServiceCents ?? 0n),
    amount_fee: centsFromInt64(totalDetails?.amountFeeCents ?? 0n),
    breakdown: { discounts: discounts.map((discount) => ({ discount: renderDiscount(discount, expansion) })) },
  };
}
