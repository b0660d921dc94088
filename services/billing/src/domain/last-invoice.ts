import { type InvoicedSubscription, invoiceSubscription } from './invoiced-subscription.ts';
import { minimumChargeCents } from './payment-shares.ts';
import { duePending, type Proration } from './proration.ts';
import type { Subscription } from './subscription.ts';

/** The invoice of what is pending of a subscription that ends with its period; undefined if that comes to less than any card can be charged. */
export function lastInvoice(
  before: Subscription,
  pending: readonly Proration[],
  at: Date,
): InvoicedSubscription | undefined {
  if (duePending(pending) < minimumChargeCents) return undefined;
  const charges = pending.filter(({ kind }) => kind === 'charge');
  const timeOf = (pick: (...times: number[]) => number, of: (one: Proration) => Date) =>
    new Date(pick(...charges.map((one) => of(one).getTime())));
  return invoiceSubscription(before, [], pending, {
    reason: 'subscription_update',
    periodStart: timeOf(Math.min, ({ periodStart }) => periodStart),
    periodEnd: timeOf(Math.max, ({ periodEnd }) => periodEnd),
    at,
  });
}
