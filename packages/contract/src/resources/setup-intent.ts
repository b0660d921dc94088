import type { SetupIntent } from '@eligo/proto/checkout/v1/checkout';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const setupIntentSchema = z.strictObject({
  setup_intent_id: idOf('setup_intent'),
  status: z.string(),
  customer: expandable('customer').nullable(),
  payment_method: expandable('payment_method').nullable(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const setupIntentReferences: References<SetupIntent> = {
  customer: { kind: 'customer', ids: (intent) => [intent.customerId] },
  payment_method: { kind: 'payment_method', ids: (intent) => [intent.paymentMethodId] },
};

export function renderSetupIntent(
  intent: SetupIntent,
  expansion: Expansion = noExpansion,
): z.infer<typeof setupIntentSchema> {
  return {
    setup_intent_id: intent.setupIntentId,
    status: intent.status,
    customer: expansion.of('customer', intent.customerId),
    payment_method: expansion.of('payment_method', intent.paymentMethodId),
    test_mode: intent.testMode,
    created_at: isoTime(intent.createdAtMs),
  };
}
