import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { isRefusedForGood, nextRetry } from '../domain/dunning.ts';
import type { ChargeStatus, Invoice, InvoiceCharge } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findDunning } from '../store/dunning-settings.ts';
import { settleInvoiceCharge } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { appendInvoiceEvent, appendSubscriptionEvent } from './billing-events.ts';
import { endSubscription } from './end-subscription.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/** What became of a charge, once it is known. */
export interface ChargeOutcome {
  readonly status: Exclude<ChargeStatus, 'pending'>;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
}

/** Records what became of a charge with all that follows, in one transaction; a second time does nothing. */
export async function recordOutcome(
  work: Context,
  scope: Scope,
  subscriptionId: string,
  charge: InvoiceCharge,
  outcome: ChargeOutcome,
): Promise<void> {
  await withTx(work.database, scope, async (tx) => {
    const subscription = await lockSubscription(tx, scope, subscriptionId);
    const invoice = await lockInvoice(tx, scope, charge.invoiceId);
    if (subscription === undefined || invoice === undefined) throw new Error(`Charge ${charge.id} has no invoice`);
    const settled = { ...outcome, settledAt: work.clock.now() };
    if (!(await settleInvoiceCharge(tx, scope, charge.id, settled))) return;
    if (outcome.status === 'succeeded') {
      await recordPayment(tx, scope, subscription, invoice, charge, outcome);
    } else if (outcome.status === 'declined') {
      const { failureCode, declineCode } = outcome;
      const refused = isRefusedForGood(failureCode, declineCode) ? charge.paymentMethodId : null;
      const failure = { failureCode, declineCode, refusedPaymentMethodId: refused };
      const failed = charge.backup ? { ...invoice, backupChargeStatus: 'failed' as const } : invoice;
      await recordFailure(tx, scope, subscription, failed, failure, charge.actingAt);
    }
    await work.failpoint('invoice_charge.before_commit');
  });
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
    ...(isPaid ? { status: 'paid' as const, paidAt: at } : {}),
  });
  if (!isPaid) return;
  await appendInvoiceEvent(tx, scope, 'paid', saved, at);
  const isBack = subscription.status === 'past_due';
  const paid = await saveSubscription(tx, scope, subscription, {
    ...subscription,
    paymentAt: null,
    heldUntil: null,
    status: isBack ? 'active' : subscription.status,
  });
  wakeWhenDue(tx, paid, at);
  if (isBack) await appendSubscriptionEvent(tx, scope, 'updated', paid, at);
}

/**
 * Records that the payment of an invoice has failed: the subscription is past due, and the next try is set (decisions 14.91). After the last one it ends, or
 * stays unpaid, as the account has it. The caller holds both rows.
 */
export async function recordFailure(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  invoice: Invoice,
  failure: Pick<Invoice, 'failureCode' | 'declineCode' | 'refusedPaymentMethodId'>,
  at: Date,
): Promise<void> {
  const firstFailedAt = invoice.firstFailedAt ?? at;
  const settings = await findDunning(tx, scope);
  const refusedPaymentMethodId = failure.refusedPaymentMethodId ?? invoice.refusedPaymentMethodId;
  const refusedForGood = refusedPaymentMethodId !== null;
  const retryAt = nextRetry(settings, { firstFailedAt, at, refusedForGood });
  const failed = await saveInvoice(tx, scope, invoice, {
    ...invoice,
    attempts: invoice.attempts + 1,
    firstFailedAt,
    failureCode: failure.failureCode,
    declineCode: failure.declineCode,
    refusedPaymentMethodId,
  });
  await appendInvoiceEvent(tx, scope, 'payment_failed', failed, at);
  if (retryAt === undefined && settings.endsWith === 'canceled') {
    await endSubscription(tx, scope, subscription, { heldUntil: null }, at);
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
}
