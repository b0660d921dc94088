import type { Charge } from '@eligo/proto/checkout/v1/checkout';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

export const chargeSchema = z.strictObject({
  charge_id: idOf('charge'),
  amount: answer.cents,
  amount_captured: answer.cents,
  amount_refunded: answer.cents,
  status: z.string(),
  payment_intent: expandable('payment_intent'),
  payment_method: expandable('payment_method').nullable(),
  failure_code: answer.text,
  decline_code: answer.text,
  balance_transaction: expandable('balance_transaction').nullable(),
  disputed: z.boolean(),
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const chargeReferences: References<Charge> = {
  balance_transaction: { kind: 'balance_transaction', ids: (charge) => [charge.balanceTransactionId] },
  payment_intent: { kind: 'payment_intent', ids: (charge) => [charge.paymentIntentId] },
  payment_method: { kind: 'payment_method', ids: (charge) => [charge.paymentMethodId] },
};

export function renderCharge(charge: Charge, expansion: Expansion = noExpansion): z.infer<typeof chargeSchema> {
  return {
    charge_id: charge.chargeId,
    amount: centsFromInt64(charge.amountCents),
    amount_captured: centsFromInt64(charge.amountCapturedCents),
    amount_refunded: centsFromInt64(charge.amountRefundedCents),
    status: charge.status,
    payment_intent: expansion.of('payment_intent', charge.paymentIntentId),
    payment_method: expansion.of('payment_method', charge.paymentMethodId),
    failure_code: charge.failureCode ?? null,
    decline_code: charge.declineCode ?? null,
    balance_transaction: expansion.of('balance_transaction', charge.balanceTransactionId),
    disputed: charge.disputed,
    test_mode: charge.testMode,
    created_at: isoTime(charge.createdAtMs),
  };
}
