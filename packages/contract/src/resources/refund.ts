import type { CaptureAllocation, RefundAllocation } from '@eligo/proto/checkout/v1/checkout';
import type { Refund, RefundItem } from '@eligo/proto/refunds/v1/refunds';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

const referenceFields = {
  reference_id: answer.text,
  reference_type: answer.text,
  reference_status: answer.text,
};

const refundItemSchema = z.strictObject({
  amount_refunded: answer.cents,
  payment_intent: idOf('payment_intent'),
  payment_method_id: idOf('payment_method'),
  ...referenceFields,
});

export const refundSchema = z.strictObject({
  refund_id: idOf('refund'),
  payment_intent_id: idOf('payment_intent').nullable(),
  amount: answer.cents,
  created_at: answer.time,
  reason: answer.text,
  status: z.enum(['pending', 'succeeded', 'failed', 'canceled', 'requires_action']),
  test_mode: z.boolean(),
  metadata: answer.metadata,
  ...referenceFields,
  items: z.array(refundItemSchema),
  subscription_id: answer.text,
  invoice_id: answer.text,
  balance_transaction: expandable('balance_transaction').nullable(),
  failure_balance_transaction: answer.text,
});

export const allocationSchema = z.strictObject({
  payment_method_id: idOf('payment_method'),
  payment_intent: idOf('payment_intent'),
  last4: z.string(),
  amount: answer.cents,
});

export const refundReferences: References<Refund> = {
  balance_transaction: { kind: 'balance_transaction', ids: (refund) => [refund.balanceTransactionId] },
};

export function renderRefund(refund: Refund, expansion: Expansion = noExpansion): z.infer<typeof refundSchema> {
  return {
    refund_id: refund.refundId,
    payment_intent_id: refund.paymentIntentId === '' ? null : refund.paymentIntentId,
    amount: centsFromInt64(refund.amountCents),
    created_at: isoTime(refund.createdAtMs),
    reason: refund.reason ?? null,
    status: refund.status as z.infer<typeof refundSchema>['status'],
    test_mode: refund.testMode,
    metadata: refund.metadata,
    reference_id: refund.referenceId ?? null,
    reference_type: refund.referenceType ?? null,
    reference_status: refund.referenceStatus ?? null,
    items: refund.items.map(renderItem),
    subscription_id: refund.subscriptionId ?? null,
    invoice_id: refund.invoiceId ?? null,
    balance_transaction: expansion.of('balance_transaction', refund.balanceTransactionId),
    failure_balance_transaction: refund.failureBalanceTransactionId ?? null,
  };
}

/** What a capture takes of one card, or a refund returns to it. */
export function renderAllocation(allocation: CaptureAllocation | RefundAllocation): z.infer<typeof allocationSchema> {
  return {
    payment_method_id: allocation.paymentMethodId,
    payment_intent: allocation.paymentIntentId,
    last4: allocation.last4,
    amount: centsFromInt64(allocation.amountCents),
  };
}

function renderItem(item: RefundItem): z.infer<typeof refundItemSchema> {
  return {
    amount_refunded: centsFromInt64(item.amountRefundedCents),
    payment_intent: item.paymentIntentId,
    payment_method_id: item.paymentMethodId,
    reference_id: item.referenceId ?? null,
    reference_type: item.referenceType ?? null,
    reference_status: item.referenceStatus ?? null,
  };
}
