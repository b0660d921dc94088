import type { PaymentIntent } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, expandsTo, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const paymentIntentSchema = expandsTo(
  'payment_intent',
  z.strictObject({
    payment_intent_id: idOf('payment_intent'),
    amount: answer.cents,
    amount_capturable: answer.cents,
    amount_received: answer.cents,
    status: z.enum([
      'requires_payment_method',
      'requires_action',
      'processing',
      'requires_capture',
      'succeeded',
      'canceled',
    ]),
    capture_method: z.string(),
    capture_before: answer.time.nullable(),
    customer: expandable('customer').nullable(),
    payment_method: expandable('payment_method').nullable(),
    latest_charge: answer.text,
    invoice: expandable('invoice').nullable(),
    checkout_session: answer.text,
    metadata: answer.metadata,
    test_mode: z.boolean(),
    created_at: answer.time,
  }),
);

export const paymentIntentReferences: References<PaymentIntent> = {
  customer: { kind: 'customer', ids: (intent) => [intent.customerId] },
  payment_method: { kind: 'payment_method', ids: (intent) => [intent.paymentMethodId] },
  invoice: { kind: 'invoice', ids: (intent) => [intent.invoiceId] },
};

export function renderPaymentIntent(
  intent: PaymentIntent,
  expansion: Expansion = noExpansion,
): z.infer<typeof paymentIntentSchema> {
  return {
    payment_intent_id: intent.paymentIntentId,
    amount: centsFromInt64(intent.amountCents),
    amount_capturable: centsFromInt64(intent.amountCapturableCents),
    amount_received: centsFromInt64(intent.amountReceivedCents),
    status: intent.status as z.infer<typeof paymentIntentSchema>['status'],
    capture_method: intent.captureMethod,
    capture_before: intent.captureBeforeMs === undefined ? null : isoTime(intent.captureBeforeMs),
    customer: expansion.of('customer', intent.customerId),
    payment_method: expansion.of('payment_method', intent.paymentMethodId),
    latest_charge: intent.latestChargeId ?? null,
    invoice: expansion.of('invoice', intent.invoiceId),
    checkout_session: intent.checkoutSessionId ?? null,
    metadata: intent.metadata,
    test_mode: intent.testMode,
    created_at: isoTime(intent.createdAtMs),
  };
}
