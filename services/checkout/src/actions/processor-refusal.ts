import { Failure } from '@eligo/failures';
import type { Declined, NotNow, Rejected, Unknown } from '@eligo/processor';

/**
 * What to tell a partner when the processor did not do what was asked where no money moves: a processor that cannot be reached is 503 and worth
 * the same request again (our keys make it safe), and so is one that does not take our own key; a card that was refused is 402; for a request
 * that it rejected the caller has the words.
 */
export function refusalOf(outcome: Declined | Rejected | NotNow | Unknown, rejected: () => Failure): Failure {
  switch (outcome.kind) {
    case 'unknown':
      return new Failure('service_unavailable', { retryAfterSeconds: 1 });
    case 'not_now':
      return new Failure('service_unavailable', { retryAfterSeconds: Math.ceil(outcome.retryAfterMs / 1_000) });
    case 'declined':
      return new Failure('card_declined', { declineCode: outcome.declineCode ?? outcome.code });
    case 'rejected':
      return isOurOwnFault(outcome) ? new Failure('service_unavailable', { retryAfterSeconds: 1 }) : rejected();
  }
}

/**
 * Whether the processor refuses Eligo and not the card: an operator must fix a wrong or revoked key, or find an object of ours that the processor does
 * not have (404: another account is asked, or its data is gone). Such a refusal is final for no attempt.
 */
export function isOurOwnFault({ status, code }: Pick<Rejected, 'status' | 'code'>): boolean {
  return status === 401 || status === 403 || status === 404 || code === 'idempotency_error';
}
