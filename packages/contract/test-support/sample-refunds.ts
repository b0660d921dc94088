import { create } from '@bufbuild/protobuf';
import { BalanceTransactionSchema, DisputeSchema, PayoutSchema, RefundSchema } from '@eligo/proto/refunds/v1/refunds';
import { newId } from '@eligo/values';

/** A refund, a dispute, a balance transaction and a payout with every field, of the payment that these name. */
export function sampleRefunds(
  {
    paymentIntentId,
    ...ids
  }: Record<
    'paymentIntentId' | 'paymentMethodId' | 'chargeId' | 'subscriptionId' | 'invoiceId' | 'checkoutSessionId',
    string
  >,
  at: { createdAtMs: bigint; testMode: boolean },
  metadata: Record<string, string>,
) {
  const { paymentMethodId, chargeId, subscriptionId, invoiceId, checkoutSessionId } = ids;
  const refund = create(RefundSchema, {
    refundId: newId('refund'),
    paymentIntentId,
    amountCents: 100n,
    reason: 'duplicate',
    status: 'pending',
    referenceId: '123',
    referenceType: 'acquirer_reference_number',
    referenceStatus: 'available',
    items: [{ amountRefundedCents: 100n, paymentIntentId, paymentMethodId, referenceId: '123' }],
    ...{ subscriptionId, invoiceId, checkoutSessionId },
    balanceTransactionId: newId('balance_transaction'),
    failureBalanceTransactionId: newId('balance_transaction'),
    metadata,
    ...at,
  });
  const dispute = create(DisputeSchema, {
    disputeId: newId('dispute'),
    ...{ paymentIntentId, chargeId },
    amountCents: 100n,
    currency: 'usd',
    status: 'needs_response',
    reason: 'fraudulent',
    evidence: { product_description: 'A thermometer' },
    dueByMs: at.createdAtMs,
    hasEvidence: true,
    submissionCount: 1,
    balanceTransactionIds: [newId('balance_transaction')],
    metadata,
    ...at,
  });
  const balanceTransaction = create(BalanceTransactionSchema, {
    balanceTransactionId: newId('balance_transaction'),
    type: 'charge',
    amountCents: 1_899n,
    feeCents: 85n,
    netCents: 1_814n,
    status: 'available',
    availableOnMs: at.createdAtMs,
    sourceId: chargeId,
    checkoutSessionId,
    reportingCategory: 'charge',
    ...at,
  });
  const payout = create(PayoutSchema, {
    payoutId: newId('payout'),
    amountCents: 1_814n,
    currency: 'usd',
    status: 'failed',
    arrivalDateMs: at.createdAtMs,
    failureCode: 'account_closed',
    balanceTransactionId: newId('balance_transaction'),
    ...at,
  });
  return { refund, dispute, balance_transaction: balanceTransaction, payout };
}
