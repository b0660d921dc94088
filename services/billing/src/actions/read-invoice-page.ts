import { Failure } from '@eligo/failures';
import type { InvoicePayment } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { type Cents, cents, sumCents } from '@eligo/values';
import type { Context } from '../context.ts';
import { isLiving } from '../domain/due-step.ts';
import type { Invoice, InvoiceLine } from '../domain/invoice.ts';
import { amountsLeft } from '../domain/payment-shares.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { findInvoice } from '../store/invoices.ts';
import { findSubscription } from '../store/subscriptions.ts';

/** What the customer of an invoice sees. */
export interface InvoicePage {
  readonly invoice: Invoice;
  readonly lines: readonly (InvoiceLine & { readonly interval: string | undefined; readonly intervalCount: number })[];
  /** Discounts, and credits of earlier periods. */
  readonly discountCents: Cents;
  readonly shippingCents: Cents;
  readonly taxCents: Cents;
  readonly dueCents: Cents;
  readonly healthCardCents: Cents;
  readonly isPayable: boolean;
  readonly isInFlight: boolean;
  /** Of its processor; undefined where it cannot be paid. */
  readonly payment: InvoicePayment | undefined;
}

/** Reads the payment page of an invoice. */
export async function readInvoicePage({ database, checkout }: Context, call: Call, id: string): Promise<InvoicePage> {
  const { scope } = call;
  // Before the invoice: once a payment has ended, the invoice read after it has the outcome.
  const charges = await loadInvoiceCharges(database, scope, id);
  const [invoice, lines] = await Promise.all([findInvoice(database, scope, id), loadInvoiceLines(database, scope, id)]);
  if (invoice === undefined) throw new Failure('invoice_not_found');
  const { subscriptionId } = invoice;
  const subscription = subscriptionId === null ? undefined : await findSubscription(database, scope, subscriptionId);
  const isPayable = subscription !== undefined && isPayableOnPage(invoice, subscription);
  const { leftCents, healthCents } = amountsLeft(invoice, charges);
  // Whether it takes health cards is a fact of the caller's account.
  const payment = isPayable ? await checkout.getInvoicePayment({ id }, call) : undefined;
  const sum = (key: 'subtotalCents' | 'taxCents' | 'shippingCents') => sumCents(lines.map((line) => line[key]));
  const [subtotalCents, taxCents, shippingCents] = [sum('subtotalCents'), sum('taxCents'), sum('shippingCents')];
  return {
    invoice,
    lines: lines.map((line) => {
      const item = subscription?.items.find((one) => one.id === line.subscriptionItemId);
      const { interval, intervalCount = 1 } = item === undefined ? {} : (subscription ?? {});
      return { ...line, interval, intervalCount };
    }),
    discountCents: lines.length === 0 ? cents(0) : cents(subtotalCents + taxCents + shippingCents - invoice.totalCents),
    shippingCents,
    taxCents,
    dueCents: isPayable ? leftCents : cents(0),
    healthCardCents: isPayable && payment?.refusesHealthCards !== true ? healthCents : cents(0),
    isPayable,
    isInFlight: isPayable && charges.some(({ status }) => status === 'pending'),
    payment,
  };
}

/** Whether a customer can pay an invoice: the open one of a subscription that lives. One that was given up is the partner's to collect. */
export function isPayableOnPage(
  invoice: Pick<Invoice, 'id' | 'status'>,
  subscription: Pick<Subscription, 'latestInvoiceId' | 'status'>,
): boolean {
  return invoice.status === 'open' && subscription.latestInvoiceId === invoice.id && isLiving(subscription.status);
}
