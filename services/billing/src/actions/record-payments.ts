import { appendAll } from '@eligo/events';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Invoice, InvoiceCharge } from '../domain/invoice.ts';
import { settleInvoiceCharges } from '../store/invoice-charges.ts';
import { lockInvoices, savePaidInvoices } from '../store/invoices.ts';
import { lockPaying, type PayingSubscription, savePaid } from '../store/subscription-groups.ts';
import { announcePayments } from './announce-payments.ts';
import { invoiceEvent } from './billing-events.ts';
import type { ChargeOutcome } from './record-payment.ts';
import { wakeAt } from './wake-when-due.ts';

/** A charge that has paid the invoice of a renewal in full. */
export interface PaidCharge {
  readonly subscriptionId: string;
  readonly charge: InvoiceCharge;
  readonly outcome: ChargeOutcome;
}

/**
 * Records charges that have paid invoices of active subscriptions, at most 16 of one account, as `recordOutcome` does, in one transaction. Answers those that it
 * recorded: the others are recorded alone, since their subscriptions or invoices have changed meanwhile.
 */
export async function recordPayments(
  context: Context,
  scope: Scope,
  charges: readonly PaidCharge[],
): Promise<Set<PaidCharge>> {
  return withTx(
    context.database,
    scope,
    async (tx) => {
      const subscriptions = lockPaying(
        tx,
        scope,
        charges.map(({ subscriptionId }) => subscriptionId),
      );
      const invoices = lockInvoices(
        tx,
        scope,
        charges.map(({ charge }) => charge.invoiceId),
      );
      const plain = plainPayments(charges, ...(await Promise.all([subscriptions, invoices])));
      await context.failpoint('invoice_charge.before_commit');
      if (plain.length === 0) return new Set();
      const settledAt = context.clock.now();
      const [settled, dueAt] = await Promise.all([
        settleInvoiceCharges(
          tx,
          scope,
          plain.map(({ paid: { charge, outcome } }) => ({ id: charge.id, ...outcome, settledAt })),
        ),
        savePaid(
          tx,
          scope,
          plain.map(({ paid }) => paid.subscriptionId),
        ),
        savePaidInvoices(
          tx,
          scope,
          plain.map(({ invoice }) => invoice),
        ),
        appendAll(
          tx,
          plain.map(({ invoice, paid }) => invoiceEvent(scope, 'paid', invoice.after, paid.charge.actingAt)),
        ),
        announcePayments(
          tx,
          scope,
          plain.map(({ invoice }) => invoice.after),
        ),
      ]);
      if (settled !== plain.length) throw new Error('A charge of an open invoice was recorded before');
      for (const { paid, isOnClock } of plain) {
        if (!isOnClock) wakeAt(tx, dueAt.get(paid.subscriptionId) ?? null, paid.charge.actingAt);
      }
      return new Set(plain.map(({ paid }) => paid));
    },
    { lockTimeoutMs },
  );
}

// A row that another transaction holds is left out, so this waits for no change of a subscription.
const lockTimeoutMs = 1_000;

interface PlainPayment {
  readonly paid: PaidCharge;
  readonly isOnClock: boolean;
  readonly invoice: { readonly before: Invoice; readonly after: Invoice };
}

function plainPayments(
  charges: readonly PaidCharge[],
  subscriptions: readonly PayingSubscription[],
  invoices: readonly Invoice[],
): PlainPayment[] {
  const subscriptionOf = new Map(subscriptions.map((one) => [one.id, one]));
  const invoiceOf = new Map(invoices.map((one) => [one.id, one]));
  return charges.flatMap((paid): PlainPayment[] => {
    const { subscriptionId, charge, outcome } = paid;
    const [before, invoice] = [subscriptionOf.get(subscriptionId), invoiceOf.get(charge.invoiceId)];
    if (before?.status !== 'active' || before.latestInvoiceId !== charge.invoiceId) return [];
    // A recorded charge has paid its invoice: one that is open and owes all of it has this charge pending.
    if (invoice?.status !== 'open' || invoice.amountPaidCents !== 0 || invoice.totalCents !== charge.amountCents)
      return [];
    const after: Invoice = {
      ...invoice,
      status: 'paid',
      amountPaidCents: charge.amountCents,
      paymentIntentId: outcome.paymentIntentId,
      chargeId: outcome.chargeId,
      paidAt: charge.actingAt,
    };
    return [{ paid, isOnClock: before.testClockId !== null, invoice: { before: invoice, after } }];
  });
}
