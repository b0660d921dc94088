import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Card, Cards } from '../domain/payment-shares.ts';
import type { Subscription } from '../domain/subscription.ts';

/** The cards of a subscription as checkout has them now; undefined when one of them is no longer there: the other one does not pay its part. */
export async function cardsOf(work: Context, scope: Scope, subscription: Subscription): Promise<Cards | undefined> {
  const { defaultPaymentMethodId, backupPaymentMethodId } = subscription;
  const [standard, backup] = await Promise.all([
    cardOf(work, scope, defaultPaymentMethodId),
    cardOf(work, scope, backupPaymentMethodId),
  ]);
  const isGone = (card: Card | null, id: string | null) => card === null && id !== null;
  return isGone(standard, defaultPaymentMethodId) || isGone(backup, backupPaymentMethodId)
    ? undefined
    : { standard, backup };
}

/** Whether the customer is still there: the cards of one that was deleted are not charged. */
export async function isCustomerThere(work: Context, scope: Scope, id: string): Promise<boolean> {
  const found = await absentAsNull(work.checkout.getCustomer({ id }, { caller: work.callerFor(scope) }));
  return found !== null && !found.deleted;
}

async function cardOf(work: Context, scope: Scope, id: string | null): Promise<Card | null> {
  if (id === null) return null;
  const method = await absentAsNull(work.checkout.getPaymentMethod({ id }, { caller: work.callerFor(scope) }));
  // A card of which nothing is known is treated as a health card (decisions 14.70).
  return method === null ? null : { id, healthCard: method.card?.hsaFsa !== false };
}

async function absentAsNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}
