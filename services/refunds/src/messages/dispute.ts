import { create } from '@bufbuild/protobuf';
import { type Dispute as DisputeMessage, DisputeSchema } from '@eligo/proto/refunds/v1/refunds';
import type { Dispute } from '../domain/dispute.ts';

/** A dispute as other services see it. */
export function disputeMessage(dispute: Dispute, now: Date): DisputeMessage {
  const { dueBy } = dispute;
  return create(DisputeSchema, {
    disputeId: dispute.disputeId,
    paymentIntentId: dispute.paymentIntentId,
    chargeId: dispute.chargeId,
    amountCents: BigInt(dispute.amountCents),
    currency: dispute.currency,
    status: dispute.status,
    reason: dispute.reason,
    evidence: dispute.evidence,
    hasEvidence: dispute.hasEvidence,
    pastDue: dueBy !== null && dueBy < now && dispute.submissionCount === 0,
    submissionCount: dispute.submissionCount,
    balanceTransactionIds: [...dispute.balanceTransactionIds],
    metadata: dispute.metadata,
    testMode: dispute.testMode,
    createdAtMs: BigInt(dispute.createdAt.getTime()),
    ...(dueBy === null ? {} : { dueByMs: BigInt(dueBy.getTime()) }),
  });
}

/** The same as the event bus sees it: without evidence, which may name a shopper and describe health products. */
export function disputeEventMessage(dispute: Dispute, now: Date): DisputeMessage {
  return disputeMessage({ ...dispute, evidence: {} }, now);
}
