import type { Dispute } from '@eligo/proto/refunds/v1/refunds';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { type Expansion, expandable, noExpansion, type References } from '../expansion.ts';
import { answer, idOf } from '../fields.ts';
import { isoTime } from '../times.ts';

/** What a dispute stands at; `warning_*` are inquiries, which hold no money. */
export const disputeStatuses = [
  ...(['warning_needs_response', 'warning_under_review', 'warning_closed'] as const),
  ...(['needs_response', 'under_review', 'won', 'lost', 'prevented'] as const),
] as const;

export const disputeSchema = z.strictObject({
  dispute_id: idOf('dispute'),
  payment_intent_id: idOf('payment_intent'),
  charge_id: idOf('charge'),
  amount: answer.cents,
  currency: z.string(),
  status: z.enum(disputeStatuses),
  reason: z.string(),
  evidence: z.record(z.string(), z.string()),
  evidence_details: z.strictObject({
    due_by: answer.time.nullable(),
    has_evidence: z.boolean(),
    past_due: z.boolean(),
    submission_count: z.int(),
  }),
  balance_transactions: z.array(expandable('balance_transaction')),
  metadata: answer.metadata,
  test_mode: z.boolean(),
  created_at: answer.time,
});

export const disputeReferences: References<Dispute> = {
  balance_transaction: {
    kind: 'balance_transaction',
    aliases: ['balance_transactions'],
    ids: (dispute) => dispute.balanceTransactionIds,
  },
};

export function renderDispute(dispute: Dispute, expansion: Expansion = noExpansion): z.infer<typeof disputeSchema> {
  return {
    dispute_id: dispute.disputeId,
    payment_intent_id: dispute.paymentIntentId,
    charge_id: dispute.chargeId,
    amount: centsFromInt64(dispute.amountCents),
    currency: dispute.currency,
    status: dispute.status as (typeof disputeStatuses)[number],
    reason: dispute.reason,
    evidence: dispute.evidence,
    evidence_details: {
      due_by: dispute.dueByMs === undefined ? null : isoTime(dispute.dueByMs),
      has_evidence: dispute.hasEvidence,
      past_due: dispute.pastDue,
      submission_count: dispute.submissionCount,
    },
    balance_transactions: dispute.balanceTransactionIds.map((id) => expansion.of('balance_transaction', id)),
    metadata: dispute.metadata,
    test_mode: dispute.testMode,
    created_at: isoTime(dispute.createdAtMs),
  };
}
