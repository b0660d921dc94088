import { periodEnd } from '@eligo/values';
import { discountsAt, type StoredDiscount } from './discounts.ts';
import { type Eligibility, itemsInvoicedBy, periodLines } from './finalized-invoice.ts';
import { type InvoicedSubscription, invoiceSubscription } from './invoiced-subscription.ts';
import type { Proration } from './proration.ts';
import { chargeAt } from './renewal-spread.ts';
import type { Subscription } from './subscription.ts';

/**
 * The next period of a subscription and its invoice. `eligibility` is that of the items, in their order. `at` is when this happens on the subscription's
 * clock; the period begins where the last one ended, however late that is. The invoice carries what is pending of changes within the last period.
 */
export function renew(
  subscription: Subscription,
  eligibility: readonly Eligibility[],
  pending: readonly Proration[],
  at: Date,
): InvoicedSubscription {
  const start = subscription.currentPeriodEnd;
  const end = periodEnd(subscription.anchor, subscription, start);
  const discounts = subscription.discounts as readonly StoredDiscount[];
  const lines = periodLines(subscription.items, discountsAt(discounts, start), eligibility);
  const terms = { reason: 'subscription_cycle', periodStart: start, periodEnd: end, at } as const;
  const renewed: Subscription = {
    ...subscription,
    status: 'active',
    items: itemsInvoicedBy(subscription.items, lines),
    currentPeriodStart: start,
    currentPeriodEnd: end,
    noticeAt: null,
  };
  return invoiceSubscription(renewed, lines, pending, terms);
}

/** What a renewal depends on beside the subscription. */
export interface RenewalFacts {
  readonly eligibility: readonly Eligibility[];
  readonly pending: readonly Proration[];
  /** Within how many minutes the account's renewals are charged. */
  readonly spreadMinutes: number;
}

/** The same, with the time at which the invoice is charged. What is charged at once stays held, because the same process goes on with it. */
export function beginPeriod(
  before: Subscription,
  { eligibility, pending, spreadMinutes }: RenewalFacts,
  at: Date,
): InvoicedSubscription {
  const renewed = renew(before, eligibility, pending, at);
  const owes = renewed.subscription.paymentAt !== null;
  const paymentAt = owes ? chargeAt(before, before.currentPeriodEnd, spreadMinutes, at) : null;
  const isChargedNow = paymentAt !== null && paymentAt <= at;
  const heldUntil = isChargedNow ? before.heldUntil : null;
  return { ...renewed, subscription: { ...renewed.subscription, paymentAt, heldUntil } };
}
