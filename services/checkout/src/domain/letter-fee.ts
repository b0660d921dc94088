import type { LetterStatus } from './letter.ts';
import type { LetterFeeStatus, Session } from './session.ts';

/** The fee of a session whose cards have paid, with the reviews that were its own. Without an approved letter it is given back; a fee that is 0 is then waived. */
export function letterFeeOfPaid(
  { letterFeeStatus, letterFeeCents }: Pick<Session, 'letterFeeStatus' | 'letterFeeCents'>,
  reviews: readonly LetterStatus[],
): LetterFeeStatus | null {
  if (letterFeeStatus !== 'pending') return letterFeeStatus;
  if (reviews.some((status) => status !== 'denied')) return 'paid';
  return letterFeeCents === 0 ? 'waived' : 'refunded';
}

/** The fee of a session that ends without a payment: the void of its holds gives it back. */
export function letterFeeOfEnded({ letterFeeStatus }: Pick<Session, 'letterFeeStatus'>): LetterFeeStatus | null {
  return letterFeeStatus === 'pending' ? 'canceled' : letterFeeStatus;
}
