import { Failure, isFailureCode } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { minimumChargeCents } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Invoice, InvoiceCharge } from '../domain/invoice.ts';
import { refuseMorePageTries, refuseMorePartnerTries } from '../domain/payment-tries.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findPendingCharge, loadInvoiceCharges, noteNewCard } from '../store/invoice-charges.ts';
import { findInvoice, lockInvoice, saveInvoice } from '../store/invoices.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { askAwaited, isAwaited } from './ask-awaited.ts';
import { changeNotNow, timeOfChange } from './change-subscription.ts';
import { checkNamedCards } from './check-payer.ts';
import { findUselessCard } from './find-useless-card.ts';
import { holdUntil } from './hold-until.ts';
import { runDueNow } from './run-due-now.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Charges an invoice now: on the card that is named, or else on the subscription's. An open one, or one that was given up when its subscription ended. A payment
 * that has begun goes on, and the named card is charged if that fails. Throws a decline, `invoice_payment_tries_exceeded` after too many tries, and `lock_timeout`
 * while the outcome of a charge is unknown.
 */
export async function payInvoice(
  context: Context,
  call: Call,
  id: string,
  paymentMethodId: string | undefined,
): Promise<Invoice> {
  const { scope } = call;
  const invoice = await findInvoice(context.database, scope, id);
  if (invoice === undefined) throw new Failure('invoice_not_found');
  const { subscriptionId } = invoice;
  const isBegun =
    invoice.status === 'uncollectible' &&
    subscriptionId !== null &&
    (await isStillDue(context, scope, invoice, subscriptionId));
  refuseUnpayable(invoice, isBegun);
  if (subscriptionId === null) throw new Failure('invoice_not_payable');
  await checkNamedCards(context, call, invoice.customerId, [
    { id: paymentMethodId, loc: ['invoice', 'payment_method'] },
  ]);
  const known = await findSubscription(context.database, scope, subscriptionId);
  if (known?.latestInvoiceId === id) {
    if (paymentMethodId !== undefined && (await isAwaited(context, scope, known))) {
      const failureCode = await findUselessCard(context, scope, known, invoice, paymentMethodId);
      if (failureCode !== undefined) throw refusalOf({ ...invoice, failureCode, declineCode: null });
    }
    const asked = await askAwaited(context, scope, known, paymentMethodId !== undefined);
    if (asked === 'waits' && paymentMethodId === undefined) {
      throw new Failure('authentication_required', {
        detail: 'The bank waits for the customer to authenticate this payment.',
      });
    }
    if (asked === 'waits' || asked === 'unknown') throw changeNotNow();
    const settled = asked === 'over' ? await findInvoice(context.database, scope, id) : undefined;
    if (settled?.status === 'paid') return settled;
  }
  const of = { id, subscriptionId, status: invoice.status };
  const first = await tryNow(context, scope, of, paymentMethodId);
  if (!first.isUnasked) return paidOrRefused(first.invoice, invoice);
  // A charge of another card was under way, and has failed. The subscription may have ended with it: then the named card is not charged for it.
  if (first.invoice.status !== invoice.status) throw new Failure('invoice_not_payable');
  if (call.signal.aborted || call.timeoutMs() < chargeMs) throw changeNotNow();
  const second = await tryNow(context, scope, of, paymentMethodId);
  if (second.isUnasked) throw changeNotNow();
  return paidOrRefused(second.invoice, first.invoice);
}

// Checkout takes up to 6 s for a charge. A caller who is gone by then does not learn that the named card was charged.
const chargeMs = 7_000;

function paidOrRefused(after: Invoice, before: Invoice): Invoice {
  if (after.status === 'paid') return after;
  // The subscription ended before a card was asked.
  throw after.attempts === before.attempts ? new Failure('invoice_not_payable') : refusalOf(after);
}

/** An invoice after a try, and whether that left it unpaid without the named card: a charge of another one was under way. */
interface Tried {
  readonly invoice: Invoice;
  readonly isUnasked: boolean;
}

interface OfInvoice {
  readonly id: string;
  readonly subscriptionId: string;
  /** What it was as the partner named it: an invoice that is given up meanwhile is not charged. */
  readonly status?: Invoice['status'];
}

// Throws `lock_timeout` while the outcome is unknown.
async function tryNow(context: Context, scope: Scope, of: OfInvoice, standard: string | undefined): Promise<Tried> {
  const cards = { standard, backup: undefined, onPage: false };
  const charging = await withTx(context.database, scope, (tx) => makeDue(context, tx, scope, of, cards));
  await context.failpoint('invoice.due');
  await runDueNow(context, scope, of.subscriptionId);
  const invoice = await findInvoice(context.database, scope, of.id);
  if (invoice === undefined) throw changeNotNow();
  const isUnknown = invoice.status !== 'paid' && (await isStillDue(context, scope, invoice, of.subscriptionId));
  if (isUnknown) throw changeNotNow();
  if (invoice.status === 'paid' || standard === undefined || charging === undefined)
    return { invoice, isUnasked: false };
  const charges = await loadInvoiceCharges(context.database, scope, of.id);
  const since = charges.slice(charges.findIndex((one) => one.id === charging.id));
  return { invoice, isUnasked: since.every((one) => one.paymentMethodId !== standard) };
}

// Its outcome is unknown, or no card could be asked: the job goes on with it.
async function isStillDue(
  { database, clock }: Context,
  scope: Scope,
  { id }: Invoice,
  subscriptionId: string,
): Promise<boolean> {
  if ((await findPendingCharge(database, scope, id)) !== undefined) return true;
  const subscription = await findSubscription(database, scope, subscriptionId);
  if (subscription?.latestInvoiceId !== id || subscription.paymentAt === null) return false;
  return subscription.paymentAt <= (await timeOnClock(database, scope, clock, subscription.testClockId));
}

function refuseUnpayable({ status, amountPaidCents, totalCents }: Invoice, isBegun: boolean): void {
  if (status === 'paid') throw new Failure('invoice_already_paid');
  if (status === 'open') return;
  // Unless its payment goes on, what was paid of one that was given up has been refunded. No card can be charged for less than the minimum.
  const isRefunded = amountPaidCents > 0 && !isBegun;
  if (status !== 'uncollectible') throw new Failure('invoice_not_payable');
  if (totalCents < minimumChargeCents) {
    throw new Failure('invoice_not_payable', { detail: 'This invoice is below what a card can be charged.' });
  }
  if (isRefunded) {
    const detail = 'A part of this invoice was paid before it was given up, and is refunded.';
    throw new Failure('invoice_not_payable', { detail });
  }
}

/** The cards that pay an invoice in place of the subscription's. */
export interface CardsToPayWith {
  readonly standard: string | undefined;
  readonly backup: string | undefined;
  /** Whether the customer typed them on the page of the invoice. */
  readonly onPage: boolean;
}

/**
 * Makes an invoice due now and holds its subscription for this process. While a charge is under way it notes that another card is named, and returns that charge.
 * Throws `lock_timeout` while the test clock of the subscription passes what is due of it.
 */
export async function makeDue(
  context: Context,
  tx: Tx,
  scope: Scope,
  of: OfInvoice,
  cards: CardsToPayWith,
): Promise<InvoiceCharge | undefined> {
  const subscription = await lockSubscription(tx, scope, of.subscriptionId);
  const invoice = await lockInvoice(tx, scope, of.id);
  if (subscription === undefined || invoice === undefined) throw new Error(`Invoice ${of.id} has no subscription`);
  const { at, isPassing } = await timeOfChange(context, tx, scope, subscription);
  if (isPassing) throw changeNotNow();
  const charges = await loadInvoiceCharges(tx, scope, invoice.id);
  const pending = charges.find(({ status }) => status === 'pending');
  refuseUnpayable(invoice, pending !== undefined || (subscription.paymentAt !== null && subscription.paymentAt <= at));
  const hasChanged = of.status !== undefined && of.status !== invoice.status;
  if (hasChanged || subscription.latestInvoiceId !== invoice.id || !isPayableIn(subscription, invoice)) {
    throw new Failure('invoice_not_payable');
  }
  // It is asked again what became of a charge that is under way, before there is another one. The subscription does not end with it where another card is named.
  if (pending !== undefined) {
    const isAnother = !cards.onPage && cards.standard !== undefined && cards.standard !== pending.paymentMethodId;
    if (isAnother) await noteNewCard(tx, scope, pending.id);
    return pending;
  }
  if (cards.onPage) refuseMorePageTries(invoice, charges);
  else refuseMorePartnerTries(invoice, charges);
  await saveInvoice(tx, scope, invoice, {
    ...invoice,
    payWithPaymentMethodId: cards.standard ?? null,
    paysOnPage: cards.onPage,
    payWithBackupPaymentMethodId: cards.backup ?? null,
    scheduledPaymentAt: cards.standard === undefined ? null : scheduledAt(subscription, invoice),
  });
  const { paymentAt } = subscription;
  // A try that is late stays late: an outage takes no tries.
  const isLate = cards.standard === undefined && paymentAt !== null && paymentAt < at;
  const saved = await saveSubscription(tx, scope, subscription, {
    ...subscription,
    paymentAt: isLate ? paymentAt : at,
    heldUntil: holdUntil(context),
  });
  wakeWhenDue(tx, saved, at);
  return undefined;
}

// Another card may wait to be tried before, whose try has not begun.
function scheduledAt({ paymentAt }: Subscription, invoice: Invoice): Date | null {
  return invoice.payWithPaymentMethodId === null ? paymentAt : invoice.scheduledPaymentAt;
}

function isPayableIn({ status }: Subscription, invoice: Invoice): boolean {
  return invoice.status === 'open' || status === 'canceled';
}

const tooLarge =
  'This invoice is above what a card can be charged. Void it, and change the items or the coupon of its subscription.';

function refusalOf({ status, failureCode, declineCode }: Invoice): Failure {
  if (status !== 'open' && status !== 'uncollectible') return new Failure('invoice_not_payable');
  if (failureCode === 'payment_method_required' || failureCode === 'backup_payment_method_required') {
    const loc = ['body', 'invoice', 'payment_method'];
    return Failure.invalid(loc, failureCode, `${failureCode}: Give the subscription a card that can pay what remains.`);
  }
  if (failureCode === 'health_cards_not_enabled') return new Failure(failureCode);
  // The remedy of a decline, another card, does not help.
  if (failureCode === 'amount_too_large') return new Failure('invoice_not_payable', { detail: tooLarge });
  const code = failureCode === 'authentication_required' ? failureCode : 'card_declined';
  const reason = declineCode ?? (failureCode !== null && !isFailureCode(failureCode) ? failureCode : undefined);
  return new Failure(code, { declineCode: reason });
}
