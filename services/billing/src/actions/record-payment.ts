import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { endsAt } from '../domain/due-step.ts';
import { isRefusedForGood, nextRetry, startOfDunning } from '../domain/dunning.ts';
import type { ChargeStatus, Invoice, InvoiceCharge } from '../domain/invoice.ts';
import { owesLastInvoice } from '../domain/last-invoice.ts';
import { type CardIds, isOwnCard, isRefusedOwnCard, type Subscription } from '../domain/subscription.ts';
import { type SubscriptionStatus, unpaidStatuses } from '../domain/subscription-states.ts';
import { isBackupAgreed } from '../store/backup-agreements.ts';
import { findDunning } from '../store/dunning-settings.ts';
import { findMeanwhile, loadInvoiceCharges, settleInvoiceCharge } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { addFailureNotice } from './add-failure-notice.ts';
import { announcePayments } from './announce-payments.ts';
import { announceEnd } from './announce-period-end.ts';
import { appendInvoiceEvent, appendSubscriptionEvent } from './billing-events.ts';
import { endSubscription, refundPaidParts } from './end-subscription.ts';
import { settleRedemptions } from './redeem-discounts.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/** What became of a charge, once it is known. */
export interface ChargeOutcome {
  readonly status: Exclude<ChargeStatus, 'pending'>;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** The card that paid, where checkout names it: an invoice that is paid already is answered with its payment, which may be of another card. */
  readonly paidWith?: string | undefined;
}

/** Records what became of a charge with all that follows, in one transaction; a second time does nothing. */
export async function recordOutcome(
  context: Context,
  scope: Scope,
  subscriptionId: string,
  charge: InvoiceCharge,
  outcome: ChargeOutcome,
): Promise<void> {
  await withTx(context.database, scope, async (tx) => {
    await recordOutcomeIn(tx, scope, subscriptionId, charge, { ...outcome, settledAt: context.clock.now() });
    await context.failpoint('invoice_charge.before_commit');
  });
}

/** The same, in the caller's transaction. */
export async function recordOutcomeIn(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  charge: InvoiceCharge,
  outcome: ChargeOutcome & { readonly settledAt: Date },
): Promise<void> {
  const subscription = await lockSubscription(tx, scope, subscriptionId);
  const invoice = await lockInvoice(tx, scope, charge.invoiceId);
  if (subscription === undefined || invoice === undefined) throw new Error(`Charge ${charge.id} has no invoice`);
  if (!(await settleInvoiceCharge(tx, scope, charge.id, outcome))) return;
  if (outcome.status === 'succeeded') {
    await recordPayment(tx, scope, subscription, invoice, charge, outcome);
  } else if (outcome.status === 'declined') {
    const { failureCode, declineCode } = outcome;
    const isOwn = isOwnCard(subscription, charge.paymentMethodId);
    const { isCardUpdated, awaitsNewCard } = await findMeanwhile(tx, scope, charge.id);
    // The schedule charges the subscription's own cards: what another card answers does not concern it. The same card may be another one since its bank has updated it.
    const isRefused = !charge.onPage && isOwn && !isCardUpdated && isRefusedForGood(failureCode, declineCode);
    const refused = isRefused ? charge.paymentMethodId : null;
    const failure = { failureCode, declineCode, refusedPaymentMethodId: refused };
    if (charge.leg === 'health' && (await otherCardPays(tx, scope, subscription, invoice))) {
      await saveInvoice(tx, scope, invoice, {
        ...invoice,
        ...failure,
        refusedPaymentMethodId: refused ?? invoice.refusedPaymentMethodId,
        healthRefused: true,
      });
      return;
    }
    const failed = charge.backup ? { ...invoice, backupChargeStatus: 'failed' as const } : invoice;
    const hasNewCard = (isOwn && isCardUpdated) || wasCardReplaced(subscription, invoice, charge);
    const awaitsCardUntil = awaitsNewCard ? await newCardDueAt(tx, scope, subscription, outcome.settledAt) : null;
    await recordFailure(tx, scope, subscription, failed, failure, charge.actingAt, { hasNewCard, awaitsCardUntil });
  }
}

// How long a subscription that would end is left, so that a card that was refused while the last charge was under way can be given again (decisions 14.356).
const newCardMs = 3_600_000;

/** Until when that card can be given. */
export async function newCardDueAt(tx: Tx, scope: Scope, { testClockId }: Subscription, now: Date): Promise<Date> {
  const at = await timeOnClock(tx, scope, { now: () => now }, testClockId);
  return new Date(at.getTime() + newCardMs);
}

// Another card was given while the one that declined was asked. One that is given a moment later pays at once, and so does this one.
function wasCardReplaced(
  subscription: Subscription,
  { payWithPaymentMethodId }: Invoice,
  charge: InvoiceCharge,
): boolean {
  const { defaultPaymentMethodId, backupPaymentMethodId } = subscription;
  const current = charge.backup ? backupPaymentMethodId : defaultPaymentMethodId;
  if (charge.onPage || payWithPaymentMethodId !== null || current === null) return false;
  // A health card goes first wherever it stands, and would only be asked again.
  if (charge.leg === 'health' && isOwnCard(subscription, charge.paymentMethodId)) return false;
  return current !== charge.paymentMethodId;
}

/**
 * Whether the other card of a subscription pays what its health card refuses: at a renewal, where the account's customers agree to that. Who pays on the page, or
 * names a card, has chosen.
 */
export async function otherCardPays(
  tx: Tx,
  scope: Scope,
  { status, defaultPaymentMethodId, backupPaymentMethodId }: Subscription,
  { paysOnPage, payWithPaymentMethodId }: Invoice,
): Promise<boolean> {
  if (!dunned.has(status) || paysOnPage || payWithPaymentMethodId !== null) return false;
  return defaultPaymentMethodId !== null && backupPaymentMethodId !== null && (await isBackupAgreed(tx, scope));
}

async function recordPayment(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  invoice: Invoice,
  charge: InvoiceCharge,
  outcome: ChargeOutcome,
): Promise<void> {
  const at = charge.actingAt;
  const amountPaidCents = cents(invoice.amountPaidCents + charge.amountCents);
  const isPaid = amountPaidCents === invoice.totalCents;
  const saved = await saveInvoice(tx, scope, invoice, {
    ...invoice,
    amountPaidCents,
    // The first card's: a health card goes first.
    paymentIntentId: invoice.paymentIntentId ?? outcome.paymentIntentId,
    chargeId: invoice.chargeId ?? outcome.chargeId,
    backupChargeStatus: charge.backup ? 'succeeded' : invoice.backupChargeStatus,
    updatedPaymentMethodIds: updatedExcept(invoice, charge.paymentMethodId),
    ...(isPaid ? { status: 'paid' as const, paidAt: at } : {}),
  });
  const { paidWith = charge.paymentMethodId } = outcome;
  const isKept = charge.onPage && paidWith === charge.paymentMethodId;
  const kept = isKept ? cardsKept(subscription, charge, await loadInvoiceCharges(tx, scope, invoice.id)) : {};
  if (!isPaid) {
    if (charge.onPage) await saveSubscription(tx, scope, subscription, { ...subscription, ...kept });
    return;
  }
  await appendInvoiceEvent(tx, scope, 'paid', saved, at);
  await announcePayments(tx, scope, [saved]);
  const becomesActive = unpaidStatuses.has(subscription.status);
  const paid = await saveSubscription(tx, scope, subscription, {
    ...subscription,
    ...kept,
    paymentAt: null,
    heldUntil: null,
    expiresAt: null,
    status: becomesActive ? 'active' : subscription.status,
  });
  if (subscription.status === 'incomplete') await settleRedemptions(tx, scope, subscription, 'finalize');
  wakeWhenDue(tx, paid, at);
  if (becomesActive || charge.onPage) await appendSubscriptionEvent(tx, scope, 'updated', paid, at);
}

/** Those of an invoice's updated cards that are left once this card was charged. */
export function updatedExcept({ updatedPaymentMethodIds }: Invoice, paymentMethodId: string): readonly string[] {
  return updatedPaymentMethodIds.filter((id) => id !== paymentMethodId);
}

// A card that has paid on the page pays the renewals, too: beside a health card that has paid its part it is the backup.
function cardsKept(
  { backupPaymentMethodId: backup }: Subscription,
  { leg, paymentMethodId: id }: InvoiceCharge,
  charges: readonly InvoiceCharge[],
): Partial<CardIds> {
  const isBesideHealthCard =
    leg === 'other' && charges.some((one) => one.leg === 'health' && one.status === 'succeeded');
  if (isBesideHealthCard) return { backupPaymentMethodId: id };
  return { defaultPaymentMethodId: id, backupPaymentMethodId: backup === id ? null : backup };
}

/** What is known of other cards when a payment has failed. */
export interface NewsOfCards {
  /** A card of the subscription is new, or was updated, since the charge began. */
  readonly hasNewCard?: boolean;
  /** Until when another card, which was refused meanwhile, can be given before the subscription ends. */
  readonly awaitsCardUntil?: Date | null;
}

/**
 * Records that the payment of an invoice has failed: the subscription is past due, and the next try is set (decisions 14.91). After the last one it ends, or
 * stays unpaid, as the account has it. One whose set end is due ends now. Where a card failed that was named or typed, the subscription's own cards are charged when they were to be. In all these cases
 * the next try is made at once where a card of the subscription is new, or was updated while the failed one was charged (14.234). A first payment, and one of a
 * subscription that has ended, are not tried again; what a card has paid of the invoice of an ended one is refunded. The caller holds both rows.
 */
export async function recordFailure(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  invoice: Invoice,
  failure: Pick<Invoice, 'failureCode' | 'declineCode' | 'refusedPaymentMethodId'>,
  at: Date,
  { hasNewCard = false, awaitsCardUntil = null }: NewsOfCards = {},
): Promise<void> {
  const isTriedAtOnce = hasNewCard || invoice.updatedPaymentMethodIds.some((id) => isOwnCard(subscription, id));
  const firstFailedAt = startOfDunning(invoice.firstFailedAt, { dueAt: subscription.paymentAt ?? at, at });
  const settings = await findDunning(tx, scope);
  const refused = refusedCards(invoice, failure.refusedPaymentMethodId);
  const refusedForGood =
    isRefusedOwnCard(subscription, refused.refusedPaymentMethodId) &&
    (!invoice.healthRefused || isRefusedOwnCard(subscription, refused.refusedBackupPaymentMethodId));
  const failed = await saveInvoice(tx, scope, invoice, {
    ...invoice,
    attempts: invoice.attempts + 1,
    firstFailedAt,
    failureCode: failure.failureCode,
    declineCode: failure.declineCode,
    ...refused,
    healthRefused: false,
    payWithPaymentMethodId: null,
    paysOnPage: false,
    payWithBackupPaymentMethodId: null,
    scheduledPaymentAt: null,
    updatedPaymentMethodIds: [],
  });
  await appendInvoiceEvent(tx, scope, 'payment_failed', failed, at);
  if (!dunned.has(subscription.status)) {
    const paymentAt = isTriedAtOnce && subscription.status === 'unpaid' ? at : null;
    const expiresAt = laterOf(subscription.expiresAt, awaitsCardUntil);
    const changes = { paymentAt, expiresAt, heldUntil: null };
    const after = await saveSubscription(tx, scope, subscription, { ...subscription, ...changes });
    if (paymentAt !== null) wakeWhenDue(tx, after, at);
    if (invoice.status === 'uncollectible') await refundPaidParts(tx, scope, subscription.id, invoice, at);
    return;
  }
  const { scheduledPaymentAt, payWithPaymentMethodId } = invoice;
  if (payWithPaymentMethodId !== null && scheduledPaymentAt !== null) {
    // A try that is late stays late, unless it would come before another card that is to be given again.
    const dueAt = isTriedAtOnce && scheduledPaymentAt > at ? at : scheduledPaymentAt;
    const paymentAt = awaitsCardUntil !== null && awaitsCardUntil > dueAt ? awaitsCardUntil : dueAt;
    const after = { ...subscription, paymentAt, heldUntil: null };
    wakeWhenDue(tx, await saveSubscription(tx, scope, subscription, after), at);
    return;
  }
  // Nothing is tried after the end that was set.
  const end = endsAt(subscription);
  const isEndDue = end !== null && end <= at;
  // But the last invoice on a card that came meanwhile.
  if (isEndDue && isTriedAtOnce && owesLastInvoice(subscription, failed)) {
    const after = { ...subscription, paymentAt: at, heldUntil: null };
    wakeWhenDue(tx, await saveSubscription(tx, scope, subscription, after), at);
    return;
  }
  const scheduledAt = isTriedAtOnce ? at : nextRetry(settings, { firstFailedAt, at, refusedForGood });
  const retryAt = scheduledAt ?? (settings.endsWith === 'canceled' ? (awaitsCardUntil ?? undefined) : undefined);
  if (isEndDue || (retryAt === undefined && settings.endsWith === 'canceled')) {
    const changes = { heldUntil: null, ...(isEndDue ? { canceledAt: end } : {}) };
    await announceEnd(tx, scope, await endSubscription(tx, scope, subscription, changes, at), at);
    return;
  }
  const before = subscription;
  const pastDue = await saveSubscription(tx, scope, before, {
    ...before,
    status: retryAt === undefined ? 'unpaid' : 'past_due',
    paymentAt: retryAt ?? null,
    heldUntil: null,
  });
  if (retryAt !== undefined) wakeWhenDue(tx, pastDue, at);
  if (pastDue.status !== before.status) await appendSubscriptionEvent(tx, scope, 'updated', pastDue, at);
  // Who pays on the page sees there that it failed.
  if (!invoice.paysOnPage) await addFailureNotice(tx, scope, failed, refusedForGood, at);
}

// Of one that expires.
function laterOf(expiresAt: Date | null, other: Date | null): Date | null {
  return expiresAt !== null && other !== null && other > expiresAt ? other : expiresAt;
}

// The other card that pays in place of a refused health card has a place of its own: the health card stays refused.
function refusedCards(
  { healthRefused, refusedPaymentMethodId, refusedBackupPaymentMethodId }: Invoice,
  now: string | null,
): Pick<Invoice, 'refusedPaymentMethodId' | 'refusedBackupPaymentMethodId'> {
  return healthRefused && now !== refusedPaymentMethodId
    ? { refusedPaymentMethodId, refusedBackupPaymentMethodId: now ?? refusedBackupPaymentMethodId }
    : { refusedPaymentMethodId: now ?? refusedPaymentMethodId, refusedBackupPaymentMethodId };
}

// What a failed payment is tried again for. A trial costs nothing, and has ended before its subscription owes.
const dunned: ReadonlySet<SubscriptionStatus> = new Set(['active', 'past_due']);
