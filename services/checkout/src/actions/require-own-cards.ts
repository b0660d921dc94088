import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { loadSession } from '../store/sessions.ts';
import { keepsCards } from './keep-card.ts';
import type { CardsOfShopper } from './shopper-cards.ts';

/**
 * Throws for a named card of another customer than the session's, as for one that is not there: a confirm refuses it, too (decisions 14.17). A session without a customer
 * takes the cards of one customer. One that makes a customer of the first card's shopper takes no second card of another one.
 */
export async function requireOwnCards(
  { database }: Context,
  scope: Scope,
  { sessionId, paymentMethod, secondPaymentMethod }: CardsOfShopper,
): Promise<void> {
  const named = Object.entries({ payment_method: paymentMethod, second_payment_method: secondPaymentMethod }).flatMap(
    ([field, id]) => (id !== undefined && isId('payment_method', id) ? [{ field, id }] : []),
  );
  if (named.length === 0) return;
  const [session, found] = await Promise.all([
    loadSession(database, scope, sessionId),
    findChargeableCards(
      database,
      scope,
      named.map(({ id }) => id),
    ),
  ]);
  const ownerOf = (id: string) => found.find((card) => card.id === id)?.customerId ?? null;
  const isOwnerless = paymentMethod !== undefined && ownerOf(paymentMethod) === null;
  const makesCustomer = isOwnerless && session?.customerId === null && keepsCards(session);
  let owner = session?.customerId ?? null;
  for (const { field, id } of named) {
    const customerId = ownerOf(id);
    if (customerId !== null && (makesCustomer || (owner !== null && customerId !== owner))) {
      const loc = ['body', 'checkout_session', field];
      throw Failure.invalid(loc, 'payment_method_not_found', `payment_method_not_found: ${id}`);
    }
    owner ??= customerId;
  }
}
