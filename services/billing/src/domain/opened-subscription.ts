import { Failure } from '@eligo/failures';
import { type Cents, cents, firstPeriod, type Interval, newId } from '@eligo/values';
import { laterPeriodCents, refuseTooLarge } from './charge-limit.ts';
import { begunDiscounts, type StoredDiscount } from './discounts.ts';
import {
  type Eligibility,
  finalizedInvoice,
  itemsInvoicedBy,
  itemsUninvoiced,
  periodLines,
} from './finalized-invoice.ts';
import type { InvoiceLine, SubscriptionInvoice } from './invoice.ts';
import type { Subscription, SubscriptionItem } from './subscription.ts';
import { trialNoticeAt } from './trial-notice.ts';
import { discountsAfter, takenOff } from './used-discounts.ts';

/** A price as the catalog sells it, with its eligibility. */
export interface SoldPrice {
  readonly priceId: string;
  readonly productId: string;
  readonly unitAmountCents: Cents;
  readonly eligibility: Eligibility;
  readonly recurring: {
    readonly interval: Interval;
    readonly intervalCount: number;
    readonly trialDays: number;
  } | null;
}

/** What a partner asks of a new subscription, with what the catalog and checkout say of it. */
export interface SubscriptionTerms {
  readonly customerId: string;
  readonly testClockId: string | null;
  readonly at: Date;
  readonly items: readonly { readonly price: SoldPrice; readonly quantity: number }[];
  readonly trialEnd: Date | null;
  readonly trialDays: number | null;
  readonly missingPaymentMethod: string | null;
  readonly cancelAt: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly defaultPaymentMethodId: string | null;
  readonly backupPaymentMethodId: string | null;
  readonly prorationBehavior: string | null;
  readonly discounts: readonly StoredDiscount[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** How long a first payment may be outstanding (decisions 7). */
const incompleteMs = 23 * 3_600_000;

/**
 * A new subscription with its first invoice. It is `trialing` with a trial, whose invoice is 0; `active` if nothing is to be charged; otherwise
 * `incomplete` until a card pays. Throws a 422 for what cannot be sold together.
 */
export function openSubscription(
  id: string,
  terms: SubscriptionTerms,
): { subscription: Subscription; invoice: SubscriptionInvoice; lines: readonly InvoiceLine[] } {
  const { at } = terms;
  const rhythm = rhythmOf(terms.items.map(({ price }) => price));
  refusePastTimes(terms);
  const trialDays = terms.trialDays ?? Math.max(0, ...terms.items.map(({ price }) => price.recurring?.trialDays ?? 0));
  const { trialEnd, end: periodEnd } = firstPeriod({ at, rhythm, trialEnd: terms.trialEnd, trialDays });
  const items = terms.items.map(({ price, quantity }) => newItem(price, quantity, at));
  const decisions = terms.items.map(({ price }) => price.eligibility);
  const wholePeriod = periodLines(items, terms.discounts, decisions);
  const lines = trialEnd === null ? wholePeriod : [];
  const period = { reason: 'subscription_create', periodStart: at, periodEnd, at } as const;
  const invoice = finalizedInvoice({ id, customerId: terms.customerId }, { lines, credits: [] }, period);
  // Also of a trial, and whatever a coupon takes off first: the card cannot pay when the trial or the coupon ends.
  refuseTooLarge(laterPeriodCents({ items, discounts: terms.discounts }));
  const status = trialEnd !== null ? 'trialing' : invoice.status === 'open' ? 'incomplete' : 'active';
  const subscription: Subscription = {
    id,
    customerId: terms.customerId,
    checkoutSessionId: null,
    testClockId: terms.testClockId,
    status,
    anchor: trialEnd ?? at,
    interval: rhythm.interval,
    intervalCount: rhythm.intervalCount,
    currentPeriodStart: at,
    currentPeriodEnd: periodEnd,
    trialStart: trialEnd === null ? null : at,
    trialEnd,
    trialCutShort: false,
    cancelAtPeriodEnd: terms.cancelAtPeriodEnd,
    cancelAt: terms.cancelAt,
    canceledAt: null,
    latestInvoiceId: invoice.id,
    defaultPaymentMethodId: terms.defaultPaymentMethodId,
    backupPaymentMethodId: terms.backupPaymentMethodId,
    prorationBehavior: terms.prorationBehavior,
    missingPaymentMethod: terms.missingPaymentMethod,
    discounts: discountsAfter(
      items,
      begunDiscounts(withAmounts(terms.discounts, items), at),
      { own: lines, all: lines },
      at,
    ),
    metadata: terms.metadata,
    paymentAt: invoice.status === 'open' ? at : null,
    noticeAt: trialNoticeAt(at, trialEnd),
    remindAt: null,
    setUpRecordedAt: null,
    expiresAt: status === 'incomplete' ? new Date(at.getTime() + incompleteMs) : null,
    heldUntil: null,
    items:
      trialEnd === null && invoice.status !== 'uncollectible' ? itemsInvoicedBy(items, lines) : itemsUninvoiced(items),
    createdAt: at,
    version: 1n,
  };
  return { subscription, invoice, lines };
}

/** An item of a price, in no period yet. */
export function newItem(price: SoldPrice, quantity: number, at: Date): SubscriptionItem {
  return {
    id: newId('subscription_item'),
    priceId: price.priceId,
    productId: price.productId,
    quantity,
    unitAmountCents: price.unitAmountCents,
    taxCents: cents(0),
    agreedTaxCents: null,
    agreedSubtotalCents: null,
    shippingCents: cents(0),
    soldByRule: price.eligibility.rule,
    invoicedCents: cents(0),
    invoicedEligible: false,
    createdAt: at,
    updatedAt: at,
  };
}

// The rhythm that prices share; a 422 names the first one that has none or another one.
function rhythmOf(prices: readonly SoldPrice[]): { interval: Interval; intervalCount: number } {
  const [first] = prices;
  for (const [index, { recurring }] of prices.entries()) {
    const loc = [...body, 'items', String(index), 'price'];
    if (recurring === null)
      throw Failure.invalid(loc, 'recurring_price_required', 'A subscription requires a recurring price');
    if (
      recurring.interval !== first?.recurring?.interval ||
      recurring.intervalCount !== first.recurring.intervalCount
    ) {
      throw Failure.invalid(loc, 'value_error', 'All items of a subscription must recur at the same interval');
    }
  }
  if (first?.recurring == null)
    throw Failure.invalid([...body, 'items'], 'too_short', 'A subscription requires an item');
  return first.recurring;
}

function refusePastTimes({ cancelAt, trialEnd, at }: SubscriptionTerms): void {
  for (const [field, time] of [
    ['cancel_at', cancelAt],
    ['trial_end', trialEnd],
  ] as const) {
    if (time !== null && time <= at) throw Failure.invalid([...body, field], 'value_error', 'Must be in the future');
  }
}

// What each discount takes off a whole period.
function withAmounts(discounts: readonly StoredDiscount[], items: readonly SubscriptionItem[]): StoredDiscount[] {
  const taken = takenOff(items, discounts);
  return discounts.map((discount, index) => ({ ...discount, amountCents: String(taken[index] ?? 0) }));
}

const body = ['body', 'subscription'] as const;
