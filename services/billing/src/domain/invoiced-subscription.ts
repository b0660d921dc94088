import type { StoredDiscount } from './discounts.ts';
import { finalizedInvoice, type InvoiceTerms, itemsUninvoiced } from './finalized-invoice.ts';
import type { InvoiceLine, ProratedLines, SubscriptionInvoice } from './invoice.ts';
import { type Proration, type RestOfPeriod, withProrations } from './proration.ts';
import type { Subscription } from './subscription.ts';
import { discountsAfter } from './used-discounts.ts';

/** A subscription, its new invoice, and what the invoice is made of. */
export interface InvoicedSubscription extends ProratedLines {
  readonly subscription: Subscription;
  readonly invoice: SubscriptionInvoice;
}

/**
 * Invoices these lines and what is pending. The new invoice is the subscription's latest one, and what is owed is charged now. The items say what the lines invoice
 * them at, unless nobody pays it, and the discounts which of them are used up. `rest` is what the lines are for, if they are for less than a period.
 */
export function invoiceSubscription(
  subscription: Subscription,
  lines: readonly InvoiceLine[],
  pending: readonly Proration[],
  terms: InvoiceTerms,
  rest?: RestOfPeriod,
): InvoicedSubscription {
  const prorated = withProrations(lines, pending);
  const invoice = finalizedInvoice(subscription, prorated, terms);
  const { items } = subscription;
  const discounts = subscription.discounts as readonly StoredDiscount[];
  return {
    ...prorated,
    invoice,
    subscription: {
      ...subscription,
      items: invoice.status === 'uncollectible' ? itemsUninvoiced(items) : items,
      discounts: discountsAfter(items, discounts, { own: lines, all: prorated.lines, rest }, terms.periodStart),
      latestInvoiceId: invoice.id,
      paymentAt: invoice.status === 'open' ? terms.at : null,
    },
  };
}
