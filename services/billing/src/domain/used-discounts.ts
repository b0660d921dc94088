import { type Cents, cents, minimumChargeCents, sumCents, takeDiscounts } from '@eligo/values';
import { discountingOf, discountsAt, isOnce, type StoredDiscount, usedDiscounts } from './discounts.ts';
import { periodTotals } from './finalized-invoice.ts';
import type { InvoiceLine } from './invoice.ts';
import { type RestOfPeriod, restOfPeriod } from './proration.ts';
import type { SubscriptionItem } from './subscription.ts';

/** What is invoiced: the lines of the items, and all lines of the invoice. */
export interface InvoicedLines {
  readonly own: readonly InvoiceLine[];
  readonly all: readonly InvoiceLine[];
  /** What the lines of the items are for; undefined if it is a whole period. */
  readonly rest?: RestOfPeriod | undefined;
}

/**
 * The discounts of a subscription once its items are invoiced for a period that begins at this time. One that holds once is used up by the first invoice that it takes something
 * off, also if nothing is left to pay, or credits pay it. It is not used up by one that charged nothing without it, either: where the items are free, or come to less than any
 * card can be charged. The months of one that repeats begin with the first invoice that it takes something off.
 */
export function discountsAfter(
  items: readonly SubscriptionItem[],
  discounts: readonly StoredDiscount[],
  invoiced: InvoicedLines,
  at: Date,
): StoredDiscount[] {
  const { own, all } = invoiced;
  if (sumCents(own.map(({ discountCents }) => discountCents)) === 0) return [...discounts];
  const active = discountsAt(discounts, at);
  const taken = takenOff(items, active);
  const taking = new Set(active.filter((_one, index) => (taken[index] ?? 0) > 0));
  const left = active.filter((one) => !(isOnce(one) && taking.has(one)));
  // Another discount may take off what a used one leaves, so what it took is not what it spares.
  const without = totalOf(all) - totalOf(own) + totalOf(discountedBy(left, items, invoiced));
  const isSpared = without >= minimumChargeCents;
  return usedDiscounts(discounts, (one) => taking.has(one) && (isSpared || !isOnce(one)), at);
}

function totalOf(lines: readonly InvoiceLine[]): number {
  return sumCents(lines.map(({ totalCents }) => totalCents));
}

// The lines of the items as other discounts leave them.
function discountedBy(
  discounts: readonly StoredDiscount[],
  items: readonly SubscriptionItem[],
  { own, rest }: InvoicedLines,
): readonly InvoiceLine[] {
  const totals = periodTotals(items, discounts);
  const whole = own.map((line) => {
    const index = items.findIndex(({ id }) => id === line.subscriptionItemId);
    const [item, totalCents] = [items[index], totals[index]];
    if (item === undefined || totalCents === undefined) throw new Error('A line of a period has no item');
    const subtotalCents = cents(item.unitAmountCents * item.quantity);
    const { taxCents, shippingCents } = item;
    const discountCents = cents(subtotalCents + taxCents + shippingCents - totalCents);
    return { ...line, subtotalCents, discountCents, taxCents, shippingCents, totalCents };
  });
  return rest === undefined ? whole : restOfPeriod(whole, rest);
}

/** What each discount takes off a whole period of items, in the order of the discounts. */
export function takenOff(items: readonly SubscriptionItem[], discounts: readonly StoredDiscount[]): Cents[] {
  const lines = items.map(({ priceId, productId }) => ({ priceId, productId: productId ?? '' }));
  const subtotals = items.map(({ unitAmountCents, quantity }) => cents(unitAmountCents * quantity));
  return takeDiscounts(lines, subtotals, discounts.map(discountingOf)).taken;
}
