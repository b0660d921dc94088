import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { type Cancellation, decideCancellation } from '../domain/cancellation.ts';
import type { Invoice, Subscription } from '../domain/subscription.ts';
import { findInvoice } from '../store/invoices.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { appendSubscriptionEvent } from './billing-events.ts';

/** The job that ends subscriptions when they are due. */
export const cancelDueJob = 'cancel-due';

/**
 * Ends a subscription now or at the end of its period. A refund is a separate operation (interface, Cancel subscription): the cancellation
 * appends a command for it, under an operation id of its own, so that it happens once and not without the cancellation.
 */
export async function cancelSubscription(
  work: Context,
  scope: Scope,
  id: string,
  cancellation: Cancellation,
): Promise<Subscription> {
  return withTx(work.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) throw new Failure('subscription_not_found');
    const at = await timeOnClock(tx, scope, work.clock, before.testClockId);
    const invoice = before.latestInvoiceId === null ? undefined : await findInvoice(tx, scope, before.latestInvoiceId);
    const { subscription, refundCents } = decideCancellation(before, invoice, cancellation, at);
    const saved = await saveSubscription(tx, scope, before, subscription);
    const type = saved.status === 'canceled' ? 'deleted' : 'updated';
    await appendSubscriptionEvent(tx, scope, type, saved, at);
    const endsAt = saved.status === 'canceled' ? undefined : endOf(saved);
    if (endsAt !== undefined) wakeJobAfterCommit(tx, cancelDueJob, endsAt.getTime() - at.getTime());
    if (refundCents > 0 && invoice !== undefined) await requestRefund(tx, scope, saved, invoice, refundCents, at);
    return saved;
  });
}

/** Ends a subscription whose time has come; false when it was changed in the meantime, and nothing was done. */
export function cancelIfDue(work: Context, scope: Scope, id: string): Promise<boolean> {
  return withTx(work.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before === undefined) return false;
    const at = await timeOnClock(tx, scope, work.clock, before.testClockId);
    const dueAt = endOf(before);
    if (dueAt === undefined || dueAt > at || before.status === 'canceled') return false;
    const after: Subscription = { ...before, status: 'canceled', canceledAt: dueAt };
    const saved = await saveSubscription(tx, scope, before, after);
    await appendSubscriptionEvent(tx, scope, 'deleted', saved, at);
    return true;
  });
}

function endOf(subscription: Subscription): Date | undefined {
  const ends = [subscription.cancelAt, subscription.cancelAtPeriodEnd ? subscription.currentPeriodEnd : null];
  const times = ends.flatMap((end) => (end === null ? [] : end.getTime()));
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}

async function requestRefund(
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
  invoice: Invoice,
  amount: Cents,
  at: Date,
): Promise<void> {
  const subject = subjectOf(invoice);
  if (subject === undefined) throw new Error(`Invoice ${invoice.id} has no payment that can be refunded`);
  await append(tx, {
    ...scope,
    type: 'command.refund',
    aggregateId: subscription.id,
    at,
    object: {
      case: 'refundRequested',
      value: create(RefundRequestedSchema, {
        operationId: `cancel:${subscription.id}`,
        subject,
        amountCents: BigInt(amount),
        reason: 'requested_by_customer',
        subscriptionId: subscription.id,
        invoiceId: invoice.id,
      }),
    },
  });
}

// A first invoice was paid with its session, perhaps by two cards; a later one by its one intent.
function subjectOf(invoice: Invoice) {
  if (invoice.checkoutSessionId !== null) return { case: 'sessionId' as const, value: invoice.checkoutSessionId };
  return invoice.paymentIntentId === null
    ? undefined
    : { case: 'paymentIntentId' as const, value: invoice.paymentIntentId };
}
