import type { Capture } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const captureSchema = expandsTo(
  'capture',
  z.strictObject({
    capture_id: idOf('capture'),
    checkout_session: idOf('checkout_session'),
    amount_captured: answer.cents,
    items: z.array(
      z.strictObject({
        price: expandable('price'),
        payment_intent: expandable('payment_intent'),
        amount_captured: answer.cents,
      }),
    ),
    amount_shipping_captured: answer.cents,
    amount_discount_captured: answer.cents,
    amount_tax_captured: answer.cents,
    final_capture: z.boolean(),
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
  }),
);

export const captureReferences: References<Capture> = {
  price: { kind: 'price', ids: (capture) => capture.items.map((item) => item.priceId) },
  payment_intent: { kind: 'payment_intent', ids: (capture) => capture.items.map((item) => item.paymentIntentId) },
};

export function renderCapture(capture: Capture, expansion: Expansion = noExpansion): z.infer<typeof captureSchema> {
  return {
    capture_id: capture.captureId,
    checkout_session: capture.checkoutSessionId,
    amount_captured: centsFromInt64(capture.amountCapturedCents),
    items: capture.items.map((item) => ({
      price: expansion.of('price', item.priceId),
      payment_intent: expansion.of('payment_intent', item.paymentIntentId),
      amount_captured: centsFromInt64(item.amountCapturedCents),
    })),
    amount_shipping_captured: centsFromInt64(capture.amountShippingCapturedCents),
    amount_discount_captured: centsFromInt64(capture.amountDiscountCapturedCents),
    amount_tax_captured: centsFromInt64(capture.amountTaxCapturedCents),
    final_capture: capture.finalCapture,
    metadata: capture.metadata,
    test_mode: capture.testMode,
    created_at: isoTime(capture.createdAtMs),
  };
}
