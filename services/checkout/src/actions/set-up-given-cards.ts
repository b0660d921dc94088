import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { setUpSession } from './set-up-session.ts';
import type { ShopperPayment } from './shopper-cards.ts';

/**
 * Saves the one or two cards that a shopper gives to a set-up session, one after the other. The session is complete once the last one is set up, so that a repeat
 * after a crash goes on with the card that is not. If one is declined, the session stays open for others. `setup_intent` of the session is the first card's.
 */
export async function setUpGivenCards(
  context: Context,
  scope: Scope,
  session: Session,
  payment: ShopperPayment,
): Promise<Session> {
  const { paymentMethodIds, slots = [] } = payment;
  const deadlineMs = performance.now() + context.budgets.callMs;
  const [first, second] = new Set(paymentMethodIds);
  const slotOf = (id: string | undefined) => (id === undefined ? undefined : slots[paymentMethodIds.indexOf(id)]);
  const saved = await setUpSession(context, scope, session, {
    ...{ paymentMethodId: first, slot: slotOf(first), deadlineMs, payment },
    completes: second === undefined,
  });
  if (second === undefined || !saved.isSetUp || saved.session.status !== 'open') return saved.session;
  const last = await setUpSession(context, scope, session, {
    ...{ paymentMethodId: second, slot: slotOf(second), role: 'backup', deadlineMs, payment },
  });
  return last.session;
}
