import { type Cents, cents, minimumChargeCents, newId, sumCents, takeDiscounts } from '@eligo/values';
import { discountingOf, type StoredDiscount } from './discounts.ts';
import { bucketOf, needsLetter } from './eligible-classes.ts';
import {
  type BillingReason,
  type InvoiceLine,
  notCollected,
  type ProratedLines,
  type SubscriptionInvoice,
} from './invoice.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';

/** What the catalog says of an item's eligibility as of the beginning of what is invoiced. */
export interface Eligibility {
  readonly eligibility: string | null;
  readonly rule: string;
  readonly ruleVersion: string;
  readonly rationale: string;
  /** The valid letter of medical necessity for a class that needs one. */
  readonly letterId: string | null;
}

/** What an invoice is for. */
export interface InvoiceTerms {
  readonly reason: BillingReason;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  /** When it is made, on the subscription's clock. */
  readonly at: Date;
}

/**
 * An invoice of these lines less these credits, finalized: open, or paid if it costs nothing, or uncollectible if it costs less than any card can be charged.
 */
export function finalizedInvoice(
  { id, customerId }: Pick<Subscription, 'id' | 'customerId'>,
  { lines, credits }: ProratedLines,
  { reason, periodStart, periodEnd, at }: InvoiceTerms,
): SubscriptionInvoice {
  const creditCents = sumCents(credits.map(({ amountCents }) => amountCents));
  const totalCents = cents(sumCents(lines.map((line) => line.totalCents)) - creditCents);
  const eligibleCredits = credits.filter(({ eligible }) => eligible);
  const eligibleCreditCents = sumCents(eligibleCredits.map(({ amountCents }) => amountCents));
  const status = totalCents === 0 ? 'paid' : totalCents < minimumChargeCents ? 'uncollectible' : 'open';
  return {
    id: newId('invoice'),
    subscriptionId: id,
    customerId,
    checkoutSessionId: null,
    billingReason: reason,
    status,
    totalCents,
    eligibleCents: cents(sumCents(lines.map((line) => line.eligibleCents)) - eligibleCreditCents),
    amountPaidCents: cents(0),
    paymentIntentId: null,
    chargeId: null,
    backupChargeStatus: null,
    periodStart,
    periodEnd,
    finalizedAt: at,
    paidAt: status === 'paid' ? at : null,
    ...notCollected,
    metadata: {},
    createdAt: at,
    version: 1n,
  };
}

/** The lines of a whole period, one for each item, with these discounts taken off. `eligibility` is in the order of the items. */
export function periodLines(
  items: readonly SubscriptionItem[],
  discounts: readonly StoredDiscount[],
  eligibility: readonly Eligibility[],
): InvoiceLine[] {
  const totals = periodTotals(items, discounts);
  return items.map((item, index) => {
    const [totalCents, decision] = [totals[index], eligibility[index]];
    if (totalCents === undefined || decision === undefined) {
      throw new Error('An item of an invoice has no amount or no eligibility decision');
    }
    const subtotalCents = subtotalOf(item);
    return {
      subscriptionItemId: item.id,
      priceId: item.priceId,
      productId: item.productId,
      quantity: item.quantity,
      unitAmountCents: item.unitAmountCents,
      subtotalCents,
      discountCents: cents(subtotalCents + item.taxCents + item.shippingCents - totalCents),
      taxCents: item.taxCents,
      shippingCents: item.shippingCents,
      totalCents,
      eligibleCents: isEligible(decision) ? totalCents : cents(0),
      ...decision,
      prorationId: null,
    };
  });
}

/** What a whole period costs with these discounts taken off, in the order of the items. */
export function periodTotals(items: readonly SubscriptionItem[], discounts: readonly StoredDiscount[]): Cents[] {
  const lines = items.map(({ priceId, productId }) => ({ priceId, productId: productId ?? '' }));
  const { nets } = takeDiscounts(lines, items.map(subtotalOf), discounts.map(discountingOf));
  return items.map(({ taxCents, shippingCents }, index) => cents((nets[index] ?? 0) + taxCents + shippingCents));
}

function subtotalOf({ unitAmountCents, quantity }: SubscriptionItem): Cents {
  return cents(unitAmountCents * quantity);
}

/** Whether a health card may pay for what this was decided of. */
export function isEligible({ eligibility, letterId }: Pick<Eligibility, 'eligibility' | 'letterId'>): boolean {
  return bucketOf(eligibility) !== undefined || (needsLetter(eligibility) && letterId !== null);
}

/** The items, with what their present period was invoiced at by these lines. */
export function itemsInvoicedBy(items: readonly SubscriptionItem[], lines: readonly InvoiceLine[]): SubscriptionItem[] {
  return items.map((item) => {
    const line = lines.find(({ subscriptionItemId }) => subscriptionItemId === item.id);
    if (line === undefined) throw new Error(`Item ${item.id} has no line`);
    return { ...item, invoicedCents: line.totalCents, invoicedEligible: line.eligibleCents > 0 };
  });
}

/** The items of an invoice that nobody pays: their present period was invoiced at nothing, so that no change credits it. */
export function itemsUninvoiced(items: readonly SubscriptionItem[]): SubscriptionItem[] {
  return items.map((item) => ({ ...item, invoicedCents: cents(0), invoicedEligible: false }));
}

/**
 * The items once nobody owes these lines. A line of a proration takes back what it invoiced of a whole period: all of an item that had changed, and what was added to
 * one that had stayed. A line of a whole period takes back all.
 */
export function itemsLess(
  items: readonly SubscriptionItem[],
  lines: readonly Pick<InvoiceLine, 'subscriptionItemId' | 'prorationId'>[],
  prorations: ReadonlyMap<string, { readonly wholeCents: Cents }>,
): SubscriptionItem[] {
  return items.map((item) => {
    const wholes = lines.flatMap(({ subscriptionItemId, prorationId }) =>
      subscriptionItemId === item.id ? [prorations.get(prorationId ?? '')?.wholeCents ?? item.invoicedCents] : [],
    );
    if (wholes.length === 0) return item;
    const taken = sumCents(wholes.map((whole) => whole ?? cents(0)));
    const left = cents(Math.max(0, (item.invoicedCents ?? 0) - taken));
    return { ...item, invoicedCents: left, invoicedEligible: left > 0 && item.invoicedEligible };
  });
}
