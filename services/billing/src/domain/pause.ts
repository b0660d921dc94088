import { Failure } from '@eligo/failures';
import { periodAround, periodEnd } from '@eligo/values';
import { discountsAt, type StoredDiscount } from './discounts.ts';
import { type Eligibility, itemsInvoicedBy, periodLines } from './finalized-invoice.ts';
import type { Invoice, ProratedLines } from './invoice.ts';
import { invoiceSubscription } from './invoiced-subscription.ts';
import { type Proration, restOfPeriod } from './proration.ts';
import type { Subscription } from './subscription.ts';

/** A paused subscription: it does not renew. Throws `subscription_not_pausable` unless it is active. */
export function pauseSubscription(before: Subscription): Subscription {
  if (before.status !== 'active') throw new Failure('subscription_not_pausable');
  return { ...before, status: 'paused' };
}

/** A subscription that goes on, and what that costs: an invoice, or nothing. */
export interface Resumption extends ProratedLines {
  readonly subscription: Subscription;
  readonly invoice: Invoice | null;
}

/**
 * A paused subscription that goes on at `at`. Without its anchor a whole period begins now. With its anchor it goes on in the period that it has paid for; if that is
 * over, it pays the rest of the period that its anchor gives, in proportion, and nothing for those that went by. The invoice carries what was pending. Throws
 * `subscription_not_resumable` unless it is paused.
 */
export function resumeSubscription(
  before: Subscription,
  eligibility: readonly Eligibility[],
  pending: readonly Proration[],
  keepsAnchor: boolean,
  at: Date,
): Resumption {
  if (before.status !== 'paused') throw new Failure('subscription_not_resumable');
  if (keepsAnchor && before.currentPeriodEnd > at) {
    return { subscription: { ...before, status: 'active' }, invoice: null, lines: [], credits: [] };
  }
  const period = keepsAnchor ? periodAround(before.anchor, before, at) : { start: at, end: periodEnd(at, before, at) };
  const discounts = before.discounts as readonly StoredDiscount[];
  const whole = periodLines(before.items, discountsAt(discounts, at), eligibility);
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
  return invoiceSubscription(resumed, lines, pending, terms, rest);
}
