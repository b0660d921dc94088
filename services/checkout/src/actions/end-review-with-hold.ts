import type { Scope, Tx } from '@eligo/postgres';
import { holdTimeOf } from '../domain/hold.ts';
import { reviewEndWithHold } from '../domain/letter.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { shortenReviews } from '../store/hold-renewals.ts';
import { recordCaptureBefore, recordHoldEnd } from '../store/holds.ts';

/**
 * Ends the reviews of a session early enough for a capture of this hold, because the card cannot be authorized again: until then a letter can be decided, and
 * then it expires as every review that nobody decides. The hold keeps why, for the timeline. The caller holds the session's row.
 */
export async function endReviewWithHold(
  tx: Tx,
  scope: Scope,
  session: Session,
  { id, captureBefore }: PaymentIntent,
  { at, now }: { readonly at: Date; readonly now: Date },
): Promise<void> {
  const hold = holdTimeOf(captureBefore ?? undefined, now, true);
  await Promise.all([
    shortenReviews(tx, scope, session.id, reviewEndWithHold(at, hold.captureBefore.getTime() - now.getTime())),
    recordHoldEnd(tx, scope, id, 'not_renewed'),
    recordCaptureBefore(tx, scope, id, hold),
  ]);
}
