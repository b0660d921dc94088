import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { type RefundRequested, RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { letterFeeOfPaid } from '../domain/letter-fee.ts';
import { paidLines } from '../domain/paid-lines.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { lettersOfSession } from '../store/letters.ts';
import { findIntents } from '../store/payment-intents.ts';

/**
 * The session, which is becoming complete, with its letter fee settled. A fee that was paid without an approved letter is refunded once: because an ordinary
 * card paid for everything and nothing was reviewed, or because every letter was denied and another card paid for their lines. The command is in this
 * transaction, under its own operation id. The caller holds the session's row and saves it.
 */
export async function settleLetterFee(tx: Tx, scope: Scope, session: Session, at: Date): Promise<Session> {
  if (session.letterFeeStatus !== 'pending') return session;
  const letters = [...(await lettersOfSession(tx, scope, session.id)).values()];
  // Its own: one that the customer had before was reviewed for another session.
  const reviews = letters.flatMap(({ sessionId, status }) => (sessionId === session.id ? [status] : []));
  const letterFeeStatus = letterFeeOfPaid(session, reviews);
  if (letterFeeStatus !== 'refunded') return { ...session, letterFeeStatus };
  if (reviews.length === 0) {
    await requestRefund(tx, scope, session, at, { case: 'sessionId', value: session.id }, 'letter_not_needed');
    return { ...session, letterFeeStatus };
  }
  const payer = await payerOfFee(tx, scope, session);
  // A confirm takes the eligible part alone, which the fee of a denied letter is not in.
  if (payer === undefined) return { ...session, letterFeeStatus: 'canceled' };
  await requestRefund(tx, scope, session, at, { case: 'paymentIntentId', value: payer.id }, 'letter_denied');
  return { ...session, letterFeeStatus };
}

// The card that paid the lines of the denied letters, and with them the fee.
async function payerOfFee(tx: Tx, scope: Scope, session: Session): Promise<PaymentIntent | undefined> {
  const intents = await findIntents(tx, scope, session.paymentIntentIds);
  return intents.find(
    (intent) =>
      intent.amountReceivedCents >= (session.letterFeeCents ?? 0) &&
      intent.amountReceivedCents > 0 &&
      paidLines(session, intent) !== 'eligible',
  );
}

async function requestRefund(
  tx: Tx,
  scope: Scope,
  { id, letterFeeCents }: Session,
  at: Date,
  subject: RefundRequested['subject'],
  reason: 'letter_not_needed' | 'letter_denied',
): Promise<void> {
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
        amountCents: BigInt(letterFeeCents ?? 0),
        reason,
      }),
    },
  });
}
