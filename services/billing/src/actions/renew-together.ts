import { appendAll } from '@eligo/events';
import { commitBehind, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { nextStep } from '../domain/due-step.ts';
import type { Eligibility } from '../domain/finalized-invoice.ts';
import type { Invoice, InvoiceCharge, InvoiceLine } from '../domain/invoice.ts';
import { newCharge } from '../domain/new-charge.ts';
import { type Cards, nextCharge } from '../domain/payment-shares.ts';
import { beginPeriod } from '../domain/renewal.ts';
import type { Subscription } from '../domain/subscription.ts';
import { endOfTrialWithoutCard } from '../domain/trial-without-card.ts';
import { insertInvoiceCharges } from '../store/invoice-charges.ts';
import { insertInvoiceLines } from '../store/invoice-lines.ts';
import { insertInvoices } from '../store/invoices.ts';
import { subscriptionsWithPending } from '../store/prorations.ts';
import { findRenewalSpread } from '../store/renewal-settings.ts';
import { lockUnchanged, saveBilledSubscriptions } from '../store/subscription-groups.ts';
import { invoiceStateEvents, subscriptionEvent } from './billing-events.ts';
import { eligibilityOfSeveral } from './judge-items.ts';
import { cardsOfSeveral, customersThere } from './payer.ts';
import { mayBeSetUp } from './set-up-card.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/** A subscription whose next period has begun. */
export interface Renewed {
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLine[];
  /** What follows at once: checkout is asked for this charge, which is written; the invoice is collected alone; or nothing, because nothing is owed yet. */
  readonly next: InvoiceCharge | 'collect' | 'nothing';
}

/** Whether a subscription whose period is over can be renewed together with others. One on a test clock, and one whose first period ends without a card, is renewed alone. */
export function isPlainRenewal(subscription: Subscription): boolean {
  const { testClockId, status, defaultPaymentMethodId } = subscription;
  if (testClockId !== null || nextStep(subscription)?.step !== 'renew') return false;
  return (status !== 'trialing' || defaultPaymentMethodId !== null) && !mayBeSetUp(subscription);
}

/**
 * Does what `renewSubscription` does for plain subscriptions of one account, at most 16, in one transaction, and begins the charge of each invoice in it, too:
 * every statement and every call is for all of them. Those that must be renewed alone are left as they are and are missing in the answer: one that has changed
 * meanwhile or is being changed, whose customer was deleted, whose trial ends without a card, or that has prorations.
 */
export async function renewTogether(
  context: Context,
  scope: Scope,
  subscriptions: readonly Subscription[],
  at: Date,
): Promise<Renewed[]> {
  const [areThere, cards, eligibility, spreadMinutes] = await Promise.all([
    customersThere(
      context,
      scope,
      subscriptions.map(({ customerId }) => customerId),
    ),
    cardsOfSeveral(context, scope, subscriptions),
    eligibilityOfSeveral(context, scope, subscriptions),
    findRenewalSpread(context.database, scope),
  ]);
  await context.failpoint('renewal.resolved');
  const facts = subscriptions.flatMap((subscription, index): Facts[] => {
    const [itsCards, decisions] = [cards[index], eligibility[index]];
    if (decisions === undefined || !areThere.has(subscription.customerId)) return [];
    return [{ subscription, cards: itsCards, eligibility: decisions }];
  });
  if (facts.length === 0) return [];
  const renewed = await withTx(
    context.database,
    scope,
    (tx) => writeRenewals(context, tx, scope, { facts, spreadMinutes }, at),
    { lockTimeoutMs },
  );
  await context.failpoint('renewal.invoiced');
  return renewed;
}

// Another instance that renews subscriptions of the account holds its invoice numbers for one round trip.
const lockTimeoutMs = 1_000;

interface Facts {
  readonly subscription: Subscription;
  /** Undefined when checkout does not know one of them. */
  readonly cards: Cards | undefined;
  readonly eligibility: readonly Eligibility[];
}

async function writeRenewals(
  context: Context,
  tx: Tx,
  scope: Scope,
  { facts, spreadMinutes }: { readonly facts: readonly Facts[]; readonly spreadMinutes: number },
  at: Date,
): Promise<Renewed[]> {
  const read = facts.map(({ subscription }) => subscription);
  const [locked, withPending] = await Promise.all([
    lockUnchanged(tx, scope, read),
    subscriptionsWithPending(
      tx,
      scope,
      read.map(({ id }) => id),
    ),
  ]);
  const byId = new Map(locked.map((subscription) => [subscription.id, subscription]));
  const made = facts.flatMap(({ subscription, cards, eligibility }) => {
    const before = byId.get(subscription.id);
    if (before === undefined || withPending.has(before.id)) return [];
    const next = beginPeriod(before, { eligibility, pending: [], spreadMinutes }, at);
    // Renewed alone, it is asked whether the backup card pays for a health card that is gone.
    if (endOfTrialWithoutCard(before, next.invoice, cards, false) !== null) return [];
    const invoice = { ...next.invoice, pageUrl: context.pages.urlOfInvoice(scope, next.invoice.id) };
    return [{ before, cards, after: next.subscription, invoice, lines: next.lines }];
  });
  if (made.length === 0) return [];
  const renewed = made.map(({ after, invoice, lines, cards }): Renewed => {
    const { id: subscriptionId, customerId, paymentAt } = after;
    const isOwed = paymentAt !== null && paymentAt <= at;
    const next = isOwed ? (chargeOf(context, invoice, cards, at) ?? 'collect') : 'nothing';
    return { subscriptionId, customerId, invoice, lines, next };
  });
  const events = made.flatMap(({ after, invoice }) => [
    subscriptionEvent(scope, 'updated', after, at),
    ...invoiceStateEvents(scope, invoice, at),
  ]);
  for (const { after } of made) wakeWhenDue(tx, after, at);
  // The numbers come as late as they can, and leave with COMMIT: the row of the account's numbers is locked for one round trip.
  const written = Promise.all([
    saveBilledSubscriptions(tx, scope, made),
    appendAll(tx, events),
    insertInvoices(
      tx,
      scope,
      renewed.map(({ invoice }) => invoice),
    ),
    insertInvoiceLines(
      tx,
      scope,
      renewed.map(({ invoice, lines }) => ({ invoiceId: invoice.id, lines })),
    ),
    insertInvoiceCharges(
      tx,
      scope,
      renewed.flatMap(({ next }) => (typeof next === 'string' ? [] : next)),
    ),
  ]);
  commitBehind(tx);
  await written;
  return renewed;
}

// Undefined where it is begun alone: a charge of the backup card is noted on the invoice, and what no card pays is dunned.
function chargeOf(
  { clock }: Pick<Context, 'clock'>,
  invoice: Invoice,
  cards: Cards | undefined,
  at: Date,
): InvoiceCharge | undefined {
  const next = cards && nextCharge(invoice, [], cards);
  if (next?.kind !== 'charge' || next.backup) return undefined;
  return newCharge(invoice, next, { actingAt: at, createdAt: clock.now() });
}
