import { Failure } from '@eligo/failures';
import { type Cents, cents, sumCents } from '@eligo/values';
import { discountsAt, endlessDiscounts, lastingDiscounts, type StoredDiscount } from './discounts.ts';
import { periodTotals } from './finalized-invoice.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';

/** The processor's limit for one charge. */
export const maximumChargeCents = cents(99_999_999);

/** Throws a 422 for more than any card can be charged at once, at the field that asks for it. */
export function refuseTooLarge(totalCents: number, field = 'items'): void {
  if (totalCents <= maximumChargeCents) return;
  throw Failure.invalid(
    ['body', 'subscription', field],
    'amount_too_large',
    `The total must be at most ${maximumChargeCents}`,
  );
}

/** What a period comes to once each coupon has ended that does not hold forever. No period comes to more. */
export function laterPeriodCents(items: readonly SubscriptionItem[], discounts: readonly StoredDiscount[]): Cents {
  return sumCents(periodTotals(items, endlessDiscounts(discounts)));
}

/** What the next period comes to by the discounts that hold then. One that holds once may be used up before. */
export function nextPeriodCents({ items, discounts, currentPeriodEnd }: Subscription): Cents {
  const then = discountsAt(discounts as readonly StoredDiscount[], currentPeriodEnd);
  return sumCents(periodTotals(items, lastingDiscounts(then)));
}
