import { type Cents, cents } from '@eligo/values';
import { type StoredDiscount, takesFixedAmount } from './discounts.ts';
import { isEligible, periodTotals } from './finalized-invoice.ts';
import type { InvoiceLine } from './invoice.ts';
import type { SubscriptionItem } from './subscription.ts';

/**
 * What each item costs in a whole period, by its id, if a fixed amount is taken off: its part depends on the other items, so that a change of one moves the others. A
 * percentage alone is each item's own, and moves by nothing but a cent of rounding.
 */
export function sharedTotals(
  items: readonly SubscriptionItem[],
  discounts: readonly StoredDiscount[],
): ReadonlyMap<string, Cents> {
  if (!discounts.some(takesFixedAmount)) return new Map();
  const totals = periodTotals(items, discounts);
  return new Map(items.map(({ id }, index) => [id, totals[index] ?? cents(0)]));
}

/**
 * What a whole period of an item that stays costs more, or less if below zero, because its part of a fixed discount moved from what left `before` to what leaves this
 * line: no more than the part moved, and not past what this line is. So an item that was invoiced at more than `before`, such as before its coupon was given, is credited
 * by what its part grows, and costs more only above what it was invoiced at. One that was invoiced at less than `before`, such as with a coupon that holds once, costs no
 * more within its period; nor does one whose eligibility is another one by now, because what was invoiced and what is added would be on different cards. Undefined if it
 * is unknown what the item was invoiced at.
 */
export function movedBy(item: SubscriptionItem, before: Cents | undefined, line: InvoiceLine): number | undefined {
  if (before === undefined || before === line.totalCents) return 0;
  if (item.invoicedCents === null) return undefined;
  const [moved, missing] = [line.totalCents - before, line.totalCents - item.invoicedCents];
  if (moved < 0) return Math.max(moved, Math.min(0, missing));
  const isOfSameCard = item.invoicedCents === 0 || item.invoicedEligible === isEligible(line);
  return item.invoicedCents >= before && isOfSameCard ? Math.max(0, Math.min(moved, missing)) : 0;
}

/** The item, invoiced at so much more or less. */
export function movedItem(item: SubscriptionItem, move: number, line: InvoiceLine): SubscriptionItem {
  if (move === 0 || item.invoicedCents === null) return item;
  return {
    ...item,
    invoicedCents: cents(item.invoicedCents + move),
    invoicedEligible: item.invoicedCents === 0 ? line.eligibleCents > 0 : item.invoicedEligible,
  };
}

/** What is added to a line, as a line of its own. */
export function addedLine(line: InvoiceLine, move: number): InvoiceLine {
  const [added, none] = [cents(move), cents(0)];
  const amounts = { subtotalCents: added, discountCents: none, taxCents: none, shippingCents: none, totalCents: added };
  return { ...line, ...amounts, eligibleCents: line.eligibleCents > 0 ? added : none };
}
