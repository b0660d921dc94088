import type { ShippingRate } from '@eligo/proto/catalog/v1/catalog';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const shippingRateSchema = z.strictObject({
  shipping_rate_id: idOf('shipping_rate'),
  active: z.boolean(),
  display_name: z.string(),
  amount: answer.cents,
  metadata: answer.metadata,
  test_mode: z.boolean(),
  created_at: answer.time,
});

export function renderShippingRate(rate: ShippingRate): z.infer<typeof shippingRateSchema> {
  return {
    shipping_rate_id: rate.shippingRateId,
    active: rate.active,
    display_name: rate.displayName,
    amount: centsFromInt64(rate.amountCents),
    metadata: rate.metadata,
    test_mode: rate.testMode,
    created_at: isoTime(rate.createdAtMs),
  };
}
