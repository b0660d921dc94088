import { Failure } from '@eligo/failures';
import { type Cents, cents, minimumChargeCents, partOf, periodAround, periodEnd, type Rhythm } from '@eligo/values';
import { nextPeriodCents } from './charge-limit.ts';
import { addedLine, movedBy, movedItem, sharedTotals } from './discount-share.ts';
import { discountsAt, presentDiscounts, type StoredDiscount } from './discounts.ts';
import { type Eligibility, itemsInvoicedBy, periodLines } from './finalized-invoice.ts';
import type { InvoiceLine } from './invoice.ts';
import { type InvoicedSubscription, invoiceSubscription } from './invoiced-subscription.ts';
import type { KeptShare } from './kept-share.ts';
import { newItem, type SoldPrice } from './opened-subscription.ts';
import { chargeOf, duePending, type Proration } from './proration.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';
import type { SubscriptionStatus } from './subscription-states.ts';
import { creditForItem } from './unused-credit.ts';

/** An item that a subscription is to have, priced. */
export interface PricedItem {
  /** The item that stays, perhaps with another price or quantity; null for a new one. */
  readonly item: SubscriptionItem | null;
  /** Another price than the item has; null if it keeps its own. */
  readonly price: SoldPrice | null;
  readonly quantity: number;
  readonly eligibility: Eligibility;
}

/** The items that a subscription is to have, and those that it loses. */
export interface PricedItems {
  /** What was paid and refunded of the present period. */
  readonly kept: KeptShare;
  readonly items: readonly PricedItem[];
  readonly removed: readonly SubscriptionItem[];
  /** What the catalog says of the items that it has, in their order. */
  readonly before: readonly Eligibility[];
}

/** A subscription with other items, and what that is worth. */
export interface ChangedItems {
  readonly subscription: Subscription;
  readonly prorations: readonly Proration[];
  /** The lines of a whole period that begins now, at another interval. */
  readonly lines: readonly InvoiceLine[];
  /** Whether an invoice is made now. */
  readonly invoicesNow: boolean;
  /** What the next period comes to without what is pending. */
  readonly nextCents: Cents;
}

/** What a change of items is worth, if nothing is said (Stripe's default). */
export const defaultProration = 'create_prorations';

/**
 * A subscription with other items from `at` on, by decisions 14.185 to 14.188, 14.236, 14.295 and 14.362. `pending` is what no invoice carries yet. `present` are the discounts of the present period, which the same
 * request may have replaced. Throws `subscription_not_updatable` where its status allows no such change, and a
 * 422 for a price of another interval beside one that stays.
 */
export function changeItems(
  before: Subscription,
  priced: PricedItems,
  pending: readonly Proration[],
  at: Date,
  present = before.discounts as readonly StoredDiscount[],
): ChangedItems {
  const behavior = before.prorationBehavior ?? defaultProration;
  const rhythm = rhythmOf(before, priced);
  const beginsPeriod = rhythm.interval !== before.interval || rhythm.intervalCount !== before.intervalCount;
  refuseStatus(before, behavior, beginsPeriod);
  const items = priced.items.map((one) => itemOf(one, at));
  const eligibility = priced.items.map((one) => one.eligibility);
  const subscription = { ...before, ...rhythm, items };
  const discounts = before.discounts as readonly StoredDiscount[];
  const nextCents = nextPeriodCents(subscription);
  if (before.status === 'trialing' || (behavior === 'none' && !beginsPeriod)) {
    return { subscription, prorations: [], lines: [], invoicesNow: false, nextCents };
  }
  const rest = { period: periodAround(before.anchor, before, at), at };
  const facts = { kept: priced.kept, decisions: priced.before, pending };
  const creditFor = (item: SubscriptionItem, wholeCents: Cents, isShare: boolean) =>
    creditForItem(before, item, wholeCents, facts, rest, isShare);
  const credit = (item: SubscriptionItem) => {
    if (item.invoicedCents === null) throw unknownAmount();
    return creditFor(item, item.invoicedCents, false);
  };
  if (beginsPeriod) {
    const lines = periodLines(items, discountsAt(discounts, at), eligibility);
    const credits = behavior === 'none' ? [] : before.items.flatMap(credit);
    const begun: Subscription = {
      ...subscription,
      anchor: at,
      items: itemsInvoicedBy(items, lines),
      currentPeriodStart: at,
      currentPeriodEnd: periodEnd(at, rhythm, at),
    };
    return { subscription: begun, prorations: credits, lines, invoicesNow: true, nextCents };
  }
  const lasting = presentDiscounts(discountsAt(present, at));
  const whole = periodLines(items, lasting, eligibility);
  const totals = sharedTotals(before.items, lasting);
  const invoiced = itemsInvoicedBy(items, whole);
  const parts = whole.map((line, index) => {
    const [one, item, itemInvoiced] = [priced.items[index], items[index], invoiced[index]];
    if (one === undefined || item === undefined || itemInvoiced === undefined) throw new Error('A line has no item');
    if (isChanged(one)) return { previous: one.item, less: undefined, item: itemInvoiced, charged: line };
    const move = movedBy(item, totals.get(item.id), line);
    if (move === undefined) throw unknownAmount();
    const [less, charged] = [cents(Math.max(0, -move)), move > 0 ? addedLine(line, move) : undefined];
    return { previous: item, less, item: movedItem(item, move, line), charged };
  });
  // The ids are in the order in which the pending ones are used and shown: credits, and then charges.
  const credits = parts.flatMap(({ previous, less }) => {
    if (previous === null) return [];
    return less === undefined ? credit(previous) : creditFor(previous, less, true);
  });
  const removed = priced.removed.flatMap(credit);
  const charges = parts.flatMap(({ item, less, charged }) =>
    charged === undefined ? [] : chargeOf(before.id, item, charged, rest, less !== undefined),
  );
  return {
    subscription: { ...subscription, items: parts.map(({ item }) => item) },
    prorations: [...credits, ...removed, ...charges],
    lines: [],
    invoicesNow: behavior === 'always_invoice',
    nextCents,
  };
}

/**
 * The invoice of a change, or null if what it comes to stays pending: nothing is left to pay, or less than any card can be charged. A whole period that begins
 * now always has its invoice.
 */
export function invoiceOfChange(
  changed: ChangedItems,
  pending: readonly Proration[],
  at: Date,
): InvoicedSubscription | null {
  const { subscription, lines } = changed;
  if (lines.length === 0 && duePending(pending) < minimumChargeCents) return null;
  return invoiceSubscription(subscription, lines, pending, {
    reason: 'subscription_update',
    periodStart: at,
    periodEnd: subscription.currentPeriodEnd,
    at,
  });
}

// An unpaid period has no unused time to credit, and a paused one is not billed.
const unbilled: ReadonlySet<SubscriptionStatus> = new Set(['past_due', 'unpaid', 'paused']);

function refuseStatus({ status }: Subscription, behavior: string, beginsPeriod: boolean): void {
  // Its first invoice is for the items that it has.
  if (status === 'incomplete') throw new Failure('subscription_not_updatable');
  if (unbilled.has(status) && (behavior !== 'none' || beginsPeriod)) throw new Failure('subscription_not_updatable');
}

function unknownAmount(): Failure {
  return Failure.invalid(
    field('proration_behavior'),
    'value_error',
    'The invoiced amount of each item is unknown for this period. Send none, or wait for the next renewal',
  );
}

// Items that stay have the subscription's rhythm. Without any, the new ones may have another one, which they share.
function rhythmOf(before: Subscription, { items }: PricedItems): Rhythm {
  const keeps = items.some(({ price }) => price === null);
  const shared = keeps ? before : (items[0]?.price?.recurring ?? before);
  for (const [index, { price }] of items.entries()) {
    if (price === null) continue;
    const loc = [...field('items'), String(index), 'price'];
    if (price.recurring === null) {
      throw Failure.invalid(loc, 'recurring_price_required', 'A subscription requires a recurring price');
    }
    if (price.recurring.interval !== shared.interval || price.recurring.intervalCount !== shared.intervalCount) {
      throw Failure.invalid(loc, 'value_error', 'All items of a subscription must recur at the same interval');
    }
  }
  return { interval: shared.interval, intervalCount: shared.intervalCount };
}

function isChanged({ item, price, quantity }: PricedItem): boolean {
  return item === null || price !== null || quantity !== item.quantity;
}

function itemOf({ item, price, quantity, eligibility }: PricedItem, at: Date): SubscriptionItem {
  if (item === null) {
    if (price === null) throw new Error('A new item has no price');
    return newItem({ ...price, eligibility }, quantity, at);
  }
  if (price === null && quantity === item.quantity) return item;
  const unitAmountCents = price?.unitAmountCents ?? item.unitAmountCents;
  return {
    ...item,
    ...(price === null ? {} : { priceId: price.priceId, productId: price.productId, soldByRule: eligibility.rule }),
    quantity,
    unitAmountCents,
    ...taxOf(item, unitAmountCents * quantity),
    updatedAt: at,
  };
}

// Tax as agreed at the sale, in proportion to what is taxed: always from what was agreed, so that nothing is lost by rounding or at a free price.
function taxOf(
  item: SubscriptionItem,
  subtotalCents: number,
): Pick<SubscriptionItem, 'taxCents' | 'agreedTaxCents' | 'agreedSubtotalCents'> {
  const agreedTaxCents = item.agreedTaxCents ?? item.taxCents;
  const agreedSubtotalCents = item.agreedSubtotalCents ?? cents(item.unitAmountCents * item.quantity);
  if (agreedTaxCents === 0 || agreedSubtotalCents === 0) {
    return { taxCents: item.taxCents, agreedTaxCents: null, agreedSubtotalCents: null };
  }
  const taxCents = partOf(agreedTaxCents, subtotalCents, agreedSubtotalCents);
  return { taxCents, agreedTaxCents, agreedSubtotalCents };
}

function field(name: string): string[] {
  return ['body', 'subscription', name];
}
