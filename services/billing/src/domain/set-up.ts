import { endlessDiscounts, type StoredDiscount } from './discounts.ts';
import { periodTotals } from './finalized-invoice.ts';
import type { Subscription } from './subscription.ts';

/**
 * Whether a card of this subscription is to be set up: the API sold it, its first period charged nothing, a later one will, and its customer has not set up a card
 * yet. A session sets up the card of a subscription that it sells.
 */
export function needsSetUp(subscription: Subscription): boolean {
  const { checkoutSessionId, status, createdAt, currentPeriodStart, currentPeriodEnd, items } = subscription;
  if (subscription.setUpRecordedAt !== null) return false;
  if (checkoutSessionId !== null || (status !== 'trialing' && status !== 'active')) return false;
  if (currentPeriodStart.getTime() !== createdAt.getTime()) return false;
  if (subscription.cancelAtPeriodEnd) return false;
  if (subscription.cancelAt !== null && subscription.cancelAt <= currentPeriodEnd) return false;
  if (items.some(({ invoicedCents }) => invoicedCents !== 0)) return false;
  const discounts = endlessDiscounts(subscription.discounts as readonly StoredDiscount[]);
  return periodTotals(items, discounts).some((totalCents) => totalCents > 0);
}
