import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { completeSession } from './complete-session.ts';

/**
 * Charges an off-session session with the payment method that it was created with, as its shopper would on the page. One for which that was
 * begun before is answered as it stands: how it ended is written on it.
 */
export async function chargeAtOnce(
  context: Context,
  scope: Scope,
  session: Session,
  refusesHealthCards: boolean,
): Promise<Session> {
  const wasBegun = session.paymentIntentIds.length > 0 || session.nextAction !== null;
  if (wasBegun || session.paymentMethodId === null) return session;
  return completeSession(context, scope, {
    sessionId: session.id,
    paymentMethodIds: [session.paymentMethodId],
    refusesHealthCards,
    shippingDetails: null,
  });
}
