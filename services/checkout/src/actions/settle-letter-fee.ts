import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { type CapturedLetterFee, capturedLetterFee, letterFeeOfPaid } from '../domain/letter-fee.ts';
import type { Session } from '../domain/session.ts';
import { lettersOfSession } from '../store/letters.ts';
import { loadSessionLines, noteLetterFeeGivenBack } from '../store/session-lines.ts';

/**
 * The session, which is becoming complete, with its letter fee settled. What was captured of a fee without an approved letter is refunded once: because an
 * ordinary card paid for everything and nothing was reviewed, or because every letter was denied and another card paid for their lines. The lines that the fee is a
 * part of note it, and the command is in this transaction, under its own operation id. The caller holds the session's row and saves it, and has sent the statements that note what was captured of its lines.
 */
export async function settleLetterFee(tx: Tx, scope: Scope, session: Session, at: Date): Promise<Session> {
  if (session.letterFeeStatus !== 'pending') return session;
  const [letters, lines] = await Promise.all([
    lettersOfSession(tx, scope, session.id),
    loadSessionLines(tx, scope, session.id),
  ]);
  // Its own: one that the customer had before was reviewed for another session.
  const reviews = [...letters.values()].flatMap(({ sessionId, status }) => (sessionId === session.id ? [status] : []));
  const fee = capturedLetterFee(session, lines);
  const letterFeeStatus = letterFeeOfPaid(session, reviews, fee);
  if (letterFeeStatus === 'refunded') {
    await Promise.all([
      noteLetterFeeGivenBack(tx, scope, session.id, fee.remainingOfLines),
      requestRefund(tx, scope, session, fee, reviews.length > 0, at),
    ]);
  }
  return { ...session, letterFeeStatus };
}

// Without a review one card has paid everything. The lines of denied letters were paid by one card, and a health card may have paid others.
async function requestRefund(
  tx: Tx,
  scope: Scope,
  { id }: Session,
  { remainingCents, paymentIntentId }: CapturedLetterFee,
  isReviewed: boolean,
  at: Date,
): Promise<void> {
  const subject: RefundRequested['subject'] =
    isReviewed && paymentIntentId !== null
      ? { case: 'paymentIntentId', value: paymentIntentId }
      : { case: 'sessionId', value: id };
  await append(tx, {
    ...scope,
    type: 'command.refund',
    aggregateId: id,
    at,
    object: {
      case: 'refundRequested',
      value: create(RefundRequestedSchema, {
        operationId: `letter-fee:${id}`,
        subject,
        amountCents: BigInt(remainingCents),
        reason: isReviewed ? 'letter_denied' : 'letter_not_needed',
        letterFee: true,
      }),
    },
  });
}
