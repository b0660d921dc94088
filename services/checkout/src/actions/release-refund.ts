import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { cents, sumCents } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { Session } from '../domain/session.ts';
import { moveRefunded } from '../store/payment-intents.ts';
import { findReservation, moveRefundComponents, releaseReservation } from '../store/refund-reservations.ts';
import { lockSession, saveSession } from '../store/sessions.ts';

/**
 * Gives a failed refund, or the parts of it that some cards refused, back to what remains (decisions 6): `amount_refunded` goes down again.
 * Once per card, however often it is asked. The components count again when all of the refund has failed. Answers the session, if it has one.
 */
export async function releaseRefund(
  charging: Charging,
  scope: Scope,
  refundId: string,
  paymentIntentIds: readonly string[],
): Promise<Session | undefined> {
  return withTx(charging.database, scope, async (tx) => {
    const found = await findReservation(tx, scope, refundId);
    if (found === undefined) throw new Failure('refund_not_found');
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
