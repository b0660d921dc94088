import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Invoice } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { invoiceMessage, subscriptionMessage } from '../messages/records.ts';

/** Appends an event of a subscription, as it is in this transaction. The caller holds its row. */
export async function appendSubscriptionEvent(
  tx: Tx,
  scope: Scope,
  type: 'created' | 'updated' | 'deleted' | 'trial_will_end',
  subscription: Subscription,
  at: Date,
): Promise<void> {
  await append(tx, {
    ...scope,
    type: `customer.subscription.${type}`,
    aggregateId: subscription.id,
    at,
    object: { case: 'subscription', value: subscriptionMessage(scope, subscription) },
  });
}

/** Appends an event of an invoice. */
export async function appendInvoiceEvent(
  tx: Tx,
  scope: Scope,
  type: 'created' | 'finalized' | 'paid' | 'payment_failed' | 'voided',
  invoice: Invoice,
  at: Date,
): Promise<void> {
  await append(tx, {
    ...scope,
    type: `invoice.${type}`,
    aggregateId: invoice.id,
    at,
    object: { case: 'invoice', value: invoiceMessage(scope, invoice) },
  });
}

/** Appends the events of a new invoice. It passes through its first states at once, and each has its event. */
export async function appendInvoiceStates(tx: Tx, scope: Scope, invoice: Invoice, at: Date): Promise<void> {
  const created: Invoice = { ...invoice, status: 'draft', finalizedAt: null, paidAt: null };
  const finalized: Invoice = invoice.status === 'paid' ? { ...invoice, status: 'open', paidAt: null } : invoice;
  await appendInvoiceEvent(tx, scope, 'created', created, at);
  await appendInvoiceEvent(tx, scope, 'finalized', finalized, at);
  if (invoice.status === 'paid') await appendInvoiceEvent(tx, scope, 'paid', invoice, at);
}
