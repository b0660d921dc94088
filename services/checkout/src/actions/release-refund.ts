import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { moveRefunded } from '../store/payment-intents.ts';
import {
  closeRefundId,
  findReservation,
  moveRefundComponents,
  type Reservation,
  releaseReservation,
} from '../store/refund-reservations.ts';
import { lockSession, saveSession } from '../store/sessions.ts';

/**
 * Gives a failed refund, or the parts of it that some cards refused, back to what remains (decisions 6): `amount_refunded` goes down again.
 * Once per card, however often it is asked. The components count again when all of the refund has failed. An id that nothing is reserved under
 * is closed, so that a reservation which was lost on its way is refused when it comes; with `keepReserved` that is all that is done. Answers
 * the session, if it has one.
 */
export async function releaseRefund(
  context: Context,
  scope: Scope,
  refundId: string,
  paymentIntentIds: readonly string[],
  keepReserved = false,
): Promise<Session | undefined> {
  return withTx(context.database, scope, async (tx) => {
    const found = await findOrClose(tx, scope, refundId);
    if (found === undefined || keepReserved) return undefined;
    const session = found.sessionId === null ? undefined : await lockSession(tx, scope, found.sessionId);
    const released = await releaseReservation(tx, scope, refundId, paymentIntentIds, found.actingAt);
    if (released.length === 0) return session;
    for (const part of released) {
      await moveRefunded(tx, scope, part.paymentIntentId, cents(-part.amountCents));
    }
    if (session === undefined) return undefined;
    const after = await findReservation(tx, scope, refundId);
    if (after?.parts.every((part) => part.released)) {
      await moveRefundComponents(tx, scope, session.id, {
        tax: -found.tax,
        shipping: -found.shipping,
        discount: -found.discount,
      });
    }
    const amount = sumCents(released.map((part) => part.amountCents));
    return saveSession(tx, scope, session, {
      ...session,
      amountRefundedCents: cents(session.amountRefundedCents - amount),
    });
  });
}

// The claim waits for a reservation that is being written; then it is there to be found.
async function findOrClose(tx: Tx, scope: Scope, refundId: string): Promise<Reservation | undefined> {
  const found = await findReservation(tx, scope, refundId);
  if (found !== undefined || (await closeRefundId(tx, scope, refundId))) return found;
  return findReservation(tx, scope, refundId);
}
