import { minimumChargeCents } from '@eligo/values';
import { endsAt, endsWithPeriod } from './due-step.ts';
import type { Invoice } from './invoice.ts';
import { type InvoicedSubscription, invoiceSubscription } from './invoiced-subscription.ts';
import { duePending, netPending, type Proration } from './proration.ts';
import type { Subscription } from './subscription.ts';

/**
 * The invoice of what is pending of a subscription that ends with its period, owed at its end. Undefined if the charges less all credits come to less than any card can
 * be charged, or if more than that would be owed: a credit reduces its own part alone.
 */
export function lastInvoice(
  before: Subscription,
  pending: readonly Proration[],
  at: Date,
): InvoicedSubscription | undefined {
  const netCents = netPending(pending);
  if (netCents < minimumChargeCents || duePending(pending) !== netCents) return undefined;
  const charges = pending.filter(({ kind }) => kind === 'charge');
  const starts = charges.map(({ periodStart }) => periodStart.getTime());
  const ends = charges.map(({ periodEnd }) => periodEnd.getTime());
  const invoiced = invoiceSubscription(before, [], pending, {
    reason: 'subscription_update',
    periodStart: new Date(Math.min(...starts)),
    periodEnd: new Date(Math.max(...ends)),
    at,
  });
  return { ...invoiced, subscription: { ...invoiced.subscription, paymentAt: before.currentPeriodEnd } };
}

/** Whether the latest invoice of a subscription is one that `lastInvoice` made: nothing else is invoiced for a change once the period is over. */
export function owesLastInvoice(
  subscription: Subscription,
  latest: Pick<Invoice, 'status' | 'billingReason' | 'createdAt'> | undefined,
): boolean {
  if (latest === undefined || latest.status !== 'open' || latest.billingReason !== 'subscription_update') return false;
  return endsWithPeriod(subscription) && latest.createdAt >= subscription.currentPeriodEnd;
}

/**
 * Whether the latest invoice of a subscription is that of a renewal which was made up after the end that was set, for a period that began before it, and no card was asked yet: it is
 * charged at once, though the end is due.
 */
export function owesLateRenewal(
  subscription: Subscription,
  latest: Pick<Invoice, 'status' | 'billingReason' | 'attempts' | 'periodStart' | 'createdAt'> | undefined,
): boolean {
  const end = endsAt(subscription);
  if (latest?.status !== 'open' || latest.billingReason !== 'subscription_cycle' || end === null) return false;
  return latest.attempts === 0 && latest.periodStart < end && latest.createdAt >= end;
}
