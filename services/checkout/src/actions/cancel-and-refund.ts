import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { letterFeeOfEnded } from '../domain/letter-fee.ts';
import type { Session } from '../domain/session.ts';
import { unbillIntents } from '../store/payment-intents.ts';
import { saveSession } from '../store/sessions.ts';
import { endLetters } from './end-letters.ts';
import { appendSessionEvent } from './payment-events.ts';
import { appendRedemptionsEnd } from './redemptions-end.ts';

/**
 * Ends a session whose payment failed after part of it was held or received, and refunds what it received. The session becomes `canceled`, or
 * `expired` if it was open past its time at `now`, with the same events as every end without a purchase. The refund is a command in this
 * transaction under its own operation id, so it happens exactly once; refunds carries it out. The caller holds the session's row. A session that has
 * already ended keeps its status and is refunded; a complete session keeps its payment.
 */
export async function cancelAndRefund(tx: Tx, scope: Scope, session: Session, now: Date): Promise<Session> {
  if (session.status === 'complete') return session;
  const ended = session.status === 'open' || session.status === 'paid' ? await end(tx, scope, session, now) : session;
  if (ended.amountReceivedCents > ended.amountRefundedCents) await requestRefund(tx, scope, ended, now);
  return ended;
}

async function end(tx: Tx, scope: Scope, session: Session, at: Date): Promise<Session> {
  const ended = await saveSession(tx, scope, session, {
    ...session,
    status: session.status === 'open' && session.expiresAt <= at ? 'expired' : 'canceled',
    endedAt: at,
    letterFeeStatus: letterFeeOfEnded(session),
    nextAction: null,
  });
  await Promise.all([unbillIntents(tx, scope, ended.id), appendRedemptionsEnd(tx, scope, ended, 'release')]);
  await endLetters(tx, scope, ended.id, at);
  await appendSessionEvent(tx, scope, 'checkout.session.expired', ended, at);
  return ended;
}

// Without an amount, refunds takes the remaining balance at that time.
async function requestRefund(tx: Tx, scope: Scope, session: Session, at: Date): Promise<void> {
  await append(tx, {
    ...scope,
    type: 'command.refund',
    aggregateId: session.id,
    at,
    object: {
      case: 'refundRequested',
      value: create(RefundRequestedSchema, {
        operationId: `unpaid:${session.id}`,
        subject: { case: 'sessionId', value: session.id },
        // The partner did not request this refund; the reason tells why it exists.
        reason: 'payment_incomplete',
      }),
    },
  });
}
