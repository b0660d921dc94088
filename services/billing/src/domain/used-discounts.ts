import { type Cents, cents, sumCents, takeDiscounts } from '@eligo/values';
import { discountingOf, discountsAt, isOnce, type StoredDiscount, usedDiscounts } from './discounts.ts';
import type { InvoiceLine } from './invoice.ts';
import { minimumChargeCents } from './payment-shares.ts';
import type { SubscriptionItem } from './subscription.ts';

/** What is invoiced: the lines of the items, and all lines of the invoice. */
export interface InvoicedLines {
  readonly own: readonly InvoiceLine[];
  readonly all: readonly InvoiceLine[];
}

/**
 * The discounts of a subscription once its items are invoiced at this time. One that holds once is used up by the first invoice that it takes something off, also if nothing
 * is left to pay, or credits pay it. It is not used up by one that charged nothing without it, either: where the items are free, or come to less than any card can be charged.
 */
export function discountsAfter(
  items: readonly SubscriptionItem[],
  discounts: readonly StoredDiscount[],
  { own, all }: InvoicedLines,
  at: Date,
): StoredDiscount[] {
  const off = sumCents(own.map(({ discountCents }) => discountCents));
  if (off === 0) return [...discounts];
  const active = discountsAt(discounts, at);
  const taken = takenOff(items, active);
  const used = new Map(active.flatMap((one, index) => (isOnce(one) ? [[one, taken[index] ?? cents(0)] as const] : [])));
  // Of the rest of a period only a part is taken off.
  const offOnce = Math.min(off, sumCents([...used.values()]));
  if (sumCents(all.map(({ totalCents }) => totalCents)) + offOnce < minimumChargeCents) return [...discounts];
  return usedDiscounts(discounts, (one) => (used.get(one) ?? 0) > 0, at);
}

/** What each discount takes off a whole period of items, in the order of the discounts. */
export function takenOff(items: readonly SubscriptionItem[], discounts: readonly StoredDiscount[]): Cents[] {
  const lines = items.map(({ priceId, productId }) => ({ priceId, productId: productId ?? '' }));
  const subtotals = items.map(({ unitAmountCents, quantity }) => cents(unitAmountCents * quantity));
  return takeDiscounts(lines, subtotals, discounts.map(discountingOf)).taken;
}
