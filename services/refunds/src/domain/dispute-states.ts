import { stateTable } from '@eligo/values';

/** What a dispute stands at. `warning_*` are inquiries: the bank asks, and holds no money. */
export type DisputeStatus =
  | 'warning_needs_response'
  | 'warning_under_review'
  | 'warning_closed'
  | 'needs_response'
  | 'under_review'
  | 'won'
  | 'lost'
  | 'prevented';

/** An inquiry may become a dispute, and a decision may be appealed. A dispute never becomes an inquiry. */
export const disputeStates = stateTable<DisputeStatus>({
  warning_needs_response: [
    ...([
      'warning_under_review',
      'warning_closed',
      'needs_response',
      'under_review',
      'won',
      'lost',
      'prevented',
    ] as const),
  ],
  warning_under_review: [
    ...([
      'warning_needs_response',
      'warning_closed',
      'needs_response',
      'under_review',
      'won',
      'lost',
      'prevented',
    ] as const),
  ],
  warning_closed: ['needs_response', 'under_review', 'won', 'lost'],
  needs_response: ['under_review', 'won', 'lost', 'prevented'],
  under_review: ['needs_response', 'won', 'lost', 'prevented'],
  won: ['needs_response', 'under_review', 'lost'],
  lost: ['needs_response', 'under_review', 'won'],
  prevented: ['needs_response', 'under_review', 'won', 'lost'],
});

/** Evidence can be given to these alone. */
export function isEditable(status: DisputeStatus): boolean {
  return status === 'needs_response' || status === 'warning_needs_response';
}

export function isClosed(status: DisputeStatus): boolean {
  return status === 'won' || status === 'lost' || status === 'warning_closed' || status === 'prevented';
}

/**
 * The status that the processor's word for it stands for. An appeal of a decision is under review until it is won or lost; a word that is not known is under
 * review, too, which holds the money.
 */
export function disputeStatusOf(processorStatus: string): {
  readonly status: DisputeStatus;
  readonly isKnown: boolean;
} {
  if (isStatus(processorStatus)) return { status: processorStatus, isKnown: true };
  if (!processorStatus.startsWith('appeal_')) return { status: 'under_review', isKnown: false };
  if (processorStatus.endsWith('_won')) return { status: 'won', isKnown: true };
  return { status: processorStatus.endsWith('_lost') ? 'lost' : 'under_review', isKnown: true };
}

/**
 * What a dispute holds of the charge: its amount while it is open or lost, nothing of an inquiry or once it is won. One that was prevented holds what it took
 * from the balance and did not bring back.
 */
export function heldByDispute(status: DisputeStatus, amountCents: number, movedCents: number): number {
  if (status === 'won' || status.startsWith('warning_')) return 0;
  return status === 'prevented' && movedCents >= 0 ? 0 : amountCents;
}

function isStatus(text: string): text is DisputeStatus {
  return disputeStates.states.some((status) => status === text);
}
