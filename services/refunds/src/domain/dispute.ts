import { Failure } from '@eligo/failures';
import type { Cents } from '@eligo/values';
import { type DisputeStatus, isClosed, isEditable } from './dispute-states.ts';

/** A dispute as partners see it. */
export interface Dispute {
  readonly disputeId: string;
  readonly status: DisputeStatus;
  readonly processorStatus: string;
  readonly reason: string;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly paymentIntentId: string;
  readonly chargeId: string;
  readonly checkoutSessionId: string | null;
  readonly evidence: Readonly<Record<string, string>>;
  readonly hasEvidence: boolean;
  readonly submissionCount: number;
  readonly dueBy: Date | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly balanceTransactionIds: readonly string[];
  readonly testMode: boolean;
}

/** A claim of a dispute: the look at the processor that it was made for is recorded unless a later one was begun. */
export interface DisputeClaim {
  readonly disputeId: string;
  readonly processorDisputeId: string;
  readonly epoch: bigint;
  /** As it was shown before, or undefined. */
  readonly before: Dispute | undefined;
  readonly checks: number;
}

/** What moved on the balance since the last look. */
export interface NewMovements {
  readonly isWithdrawn: boolean;
  readonly isReinstated: boolean;
}

export type DisputeEventType =
  `charge.dispute.${'created' | 'updated' | 'closed' | 'funds_withdrawn' | 'funds_reinstated'}`;

/** The events that tell how a dispute differs from what was last shown; none when it does not. */
export function disputeNews(before: Dispute | undefined, after: Dispute, moved: NewMovements): DisputeEventType[] {
  const hasClosed = isClosed(after.status) && before?.status !== after.status;
  const hasChanged = before !== undefined && !hasClosed && !isShownAlike(before, after);
  return [
    ...(before === undefined ? (['charge.dispute.created'] as const) : []),
    ...(hasChanged ? (['charge.dispute.updated'] as const) : []),
    ...(moved.isWithdrawn ? (['charge.dispute.funds_withdrawn'] as const) : []),
    ...(hasClosed ? (['charge.dispute.closed'] as const) : []),
    ...(moved.isReinstated ? (['charge.dispute.funds_reinstated'] as const) : []),
  ];
}

/** Throws `dispute_not_open` unless the dispute needs a response, and a 422 at this field after its deadline. */
export function assertEditable({ status, dueBy }: Dispute, field: 'evidence' | 'submit'): void {
  if (!isEditable(status)) throw new Failure('dispute_not_open');
  if (dueBy !== null && dueBy < new Date()) {
    throw Failure.invalid(['body', 'dispute', field], 'evidence_past_due', 'The deadline for evidence has passed');
  }
}

// The movements have events of their own.
function isShownAlike(before: Dispute, after: Dispute): boolean {
  const shown = ({ balanceTransactionIds: _, processorStatus: __, ...rest }: Dispute) => ({
    ...rest,
    evidence: Object.entries(rest.evidence).sort(),
    metadata: Object.entries(rest.metadata).sort(),
  });
  return JSON.stringify(shown(before)) === JSON.stringify(shown(after));
}
