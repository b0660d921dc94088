import { Failure } from '@eligo/failures';
import { type Cents, maximumChargeCents, sumCents } from '@eligo/values';
import { discountsAt, endlessDiscounts, lastingDiscounts, type StoredDiscount } from './discounts.ts';
import { periodTotals } from './finalized-invoice.ts';
import type { Subscription } from './subscription.ts';

/** Throws a 422 for more than any card can be charged at once, at the field that asks for it. */
export function refuseTooLarge(totalCents: number, field = 'items'): void {
  if (totalCents <= maximumChargeCents) return;
  throw Failure.invalid(
    ['body', 'subscription', field],
    'amount_too_large',
    `The total must be at most ${maximumChargeCents}`,
  );
}

/** The same unless it is no more than before: what comes to too much since an earlier release may come to less. */
export function refuseLarger(totalCents: number, beforeCents: number, field?: string): void {
  if (totalCents > beforeCents) refuseTooLarge(totalCents, field);
}

/** What a period comes to once each coupon has ended that does not hold forever. No period comes to more. */
export function laterPeriodCents({ items, discounts }: Pick<Subscription, 'items' | 'discounts'>): Cents {
  return sumCents(periodTotals(items, endlessDiscounts(discounts as readonly StoredDiscount[])));
}

/** What the next period comes to by the discounts that hold then. One that holds once may be used up before. */
export function nextPeriodCents({ items, discounts, currentPeriodEnd }: Subscription): Cents {
  const then = discountsAt(discounts as readonly StoredDiscount[], currentPeriodEnd);
  return sumCents(periodTotals(items, lastingDiscounts(then)));
}
