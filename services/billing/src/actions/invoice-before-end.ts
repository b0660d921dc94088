import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { endsWithPeriod } from '../domain/due-step.ts';
import { lastInvoice, owesLastInvoice, owesLateRenewal } from '../domain/last-invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findInvoice } from '../store/invoices.ts';
import { pendingProrations } from '../store/prorations.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { wakeWhenDue } from './wake-when-due.ts';
import { writeInvoice } from './write-invoice.ts';

/**
 * Invoices what is pending of a subscription that is to end with its period now, once: its charges are for time that has passed. An end within a period invoices nothing:
 * they would be for time after it. `owes` if that invoice is to be charged before the end, or that of a renewal which was made up late, also one that a crash has left. `changed` if the subscription changed meanwhile.
 */
export async function invoiceBeforeEnd(
  context: Context,
  scope: Scope,
  subscription: Subscription,
  at: Date,
): Promise<'owes' | 'nothing' | 'changed'> {
  const { id, version, status, paymentAt, latestInvoiceId } = subscription;
  if (status !== 'active') return 'nothing';
  if (paymentAt !== null) {
    const latest = await findInvoice(context.database, scope, latestInvoiceId ?? '');
    return owesLastInvoice(subscription, latest) || owesLateRenewal(subscription, latest) ? 'owes' : 'nothing';
  }
  if (!endsWithPeriod(subscription)) return 'nothing';
  // Most have nothing to invoice, and need no transaction.
  const pending = await pendingProrations(context.database, scope, id);
  if (lastInvoice(subscription, pending, at) === undefined) return 'nothing';
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before?.version !== version) return 'changed';
    // Read again: the void of an earlier invoice gives back its credits, and changes no version.
    const invoiced = lastInvoice(before, await pendingProrations(tx, scope, id), at);
    if (invoiced === undefined) return 'nothing';
    const saved = await saveSubscription(tx, scope, before, invoiced.subscription);
    wakeWhenDue(tx, saved, at);
    await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    await writeInvoice(context, tx, scope, invoiced.invoice, invoiced, at);
    return 'owes';
  });
}
