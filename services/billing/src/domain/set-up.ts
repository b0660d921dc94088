import type { Subscription } from './subscription.ts';

/**
 * Whether a card of this subscription is to be set up: the API sold it, its first period charged nothing, and a later one will. A session sets up the card of a
 * subscription that it sells.
 */
export function chargesLater(subscription: Subscription): boolean {
  const { checkoutSessionId, status, createdAt, currentPeriodStart, currentPeriodEnd, items } = subscription;
  if (checkoutSessionId !== null || (status !== 'trialing' && status !== 'active')) return false;
  if (currentPeriodStart.getTime() !== createdAt.getTime()) return false;
  if (subscription.cancelAtPeriodEnd) return false;
  if (subscription.cancelAt !== null && subscription.cancelAt <= currentPeriodEnd) return false;
  const isCharged = items.some(({ invoicedCents }) => invoicedCents !== 0);
  return !isCharged && items.some(({ unitAmountCents, quantity }) => unitAmountCents * quantity > 0);
}
