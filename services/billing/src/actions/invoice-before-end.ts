import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { lastInvoice } from '../domain/last-invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { pendingProrations } from '../store/prorations.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { wakeWhenDue } from './wake-when-due.ts';
import { writeInvoice } from './write-invoice.ts';

/**
 * Invoices what is pending of a subscription that is to end now, once: its charges are for time that has passed. `owes` if an invoice is to be charged before it ends,
 * also one that a crash has left; a payment that has failed is not tried again. `changed` if the subscription changed meanwhile.
 */
export async function invoiceBeforeEnd(
  context: Context,
  scope: Scope,
  { id, version, status, paymentAt }: Subscription,
  at: Date,
): Promise<'owes' | 'nothing' | 'changed'> {
  if (status !== 'active') return 'nothing';
  if (paymentAt !== null) return paymentAt <= at ? 'owes' : 'nothing';
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, id);
    if (before?.version !== version) return 'changed';
    const invoiced = lastInvoice(before, await pendingProrations(tx, scope, id), at);
    if (invoiced === undefined) return 'nothing';
    const saved = await saveSubscription(tx, scope, before, invoiced.subscription);
    wakeWhenDue(tx, saved, at);
    await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    await writeInvoice(context, tx, scope, invoiced.invoice, invoiced, at);
    return 'owes';
  });
}
