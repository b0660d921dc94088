import { Failure } from '@eligo/failures';
import { cents, periodAround, periodEnd } from '@eligo/values';
import { discountsAt, type StoredDiscount } from './discounts.ts';
import { itemsInvoicedBy, periodLines } from './finalized-invoice.ts';
import type { ProratedLines, SubscriptionInvoice } from './invoice.ts';
import { invoiceSubscription } from './invoiced-subscription.ts';
import { type Proration, restOfPeriod } from './proration.ts';
import type { Subscription } from './subscription.ts';
import { type CreditFacts, creditForItem } from './unused-credit.ts';

/** A paused subscription: it does not renew. Throws `subscription_not_pausable` unless it is active. */
export function pauseSubscription(before: Subscription): Subscription {
  if (before.status !== 'active') throw new Failure('subscription_not_pausable');
  return { ...before, status: 'paused' };
}

/** A subscription that goes on, and what that costs: an invoice, or nothing. */
export interface Resumption extends ProratedLines {
  readonly subscription: Subscription;
  readonly invoice: SubscriptionInvoice | null;
  /** The credits for what is left of the period that was paid, where another one begins now. */
  readonly prorations: readonly Proration[];
}

/** Whether a resumption begins another period while the one that was paid is not over, so that its unused time is credited. */
export function overlapsPaidPeriod(
  { currentPeriodEnd, prorationBehavior }: Subscription,
  keepsAnchor: boolean,
  at: Date,
): boolean {
  return !keepsAnchor && currentPeriodEnd > at && prorationBehavior !== 'none';
}

/**
 * A paused subscription that goes on at `at`. Without its anchor a whole period begins now, and unused time of the one before is credited. With its anchor it goes on in the period that it has paid for; if that is
 * over, it pays the rest of the period that its anchor gives, in proportion, and nothing for those that went by. The invoice carries what was pending. Throws
 * `subscription_not_resumable` unless it is paused.
 */
export function resumeSubscription(
  before: Subscription,
  facts: CreditFacts,
  keepsAnchor: boolean,
  at: Date,
): Resumption {
  if (before.status !== 'paused') throw new Failure('subscription_not_resumable');
  if (keepsAnchor && before.currentPeriodEnd > at) {
    return { subscription: { ...before, status: 'active' }, invoice: null, lines: [], credits: [], prorations: [] };
  }
  const period = keepsAnchor ? periodAround(before.anchor, before, at) : { start: at, end: periodEnd(at, before, at) };
  const discounts = before.discounts as readonly StoredDiscount[];
  const whole = periodLines(before.items, discountsAt(discounts, at), facts.decisions);
  const rest = keepsAnchor ? { period, at } : undefined;
  const lines = rest === undefined ? whole : restOfPeriod(whole, rest);
  const terms = { reason: 'subscription_update', periodStart: at, periodEnd: period.end, at } as const;
  const resumed: Subscription = {
    ...before,
    status: 'active',
    anchor: keepsAnchor ? before.anchor : at,
    items: itemsInvoicedBy(before.items, whole),
    currentPeriodStart: at,
    currentPeriodEnd: period.end,
  };
  const unused = { period: periodAround(before.anchor, before, at), at };
  const prorations = overlapsPaidPeriod(before, keepsAnchor, at)
    ? before.items.flatMap((item) => creditForItem(before, item, item.invoicedCents ?? cents(0), facts, unused, false))
    : [];
  return { ...invoiceSubscription(resumed, lines, [...facts.pending, ...prorations], terms, rest), prorations };
}
