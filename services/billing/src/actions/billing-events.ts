import { append, type NewEvent } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Invoice } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { invoiceMessage, subscriptionMessage } from '../messages/records.ts';

type SubscriptionChange = 'created' | 'updated' | 'deleted' | 'trial_will_end';
type InvoiceChange = 'created' | 'finalized' | 'paid' | 'payment_failed' | 'voided' | 'marked_uncollectible';

/** An event of a subscription. */
export function subscriptionEvent(
  scope: Scope,
  type: SubscriptionChange,
  subscription: Subscription,
  at: Date,
): NewEvent {
  return {
    ...scope,
    type: `customer.subscription.${type}`,
    aggregateId: subscription.id,
    at,
    object: { case: 'subscription', value: subscriptionMessage(scope, subscription) },
  };
}

/** An event of an invoice. */
export function invoiceEvent(scope: Scope, type: InvoiceChange, invoice: Invoice, at: Date): NewEvent {
  return {
    ...scope,
    type: `invoice.${type}`,
    aggregateId: invoice.id,
    at,
    object: { case: 'invoice', value: invoiceMessage(scope, invoice) },
  };
}

/** The events of a new invoice. It passes through its first states at once, and each has its event. */
export function invoiceStateEvents(scope: Scope, invoice: Invoice, at: Date): NewEvent[] {
  const created: Invoice = { ...invoice, status: 'draft', finalizedAt: null, paidAt: null };
  const finalized: Invoice = { ...invoice, status: 'open', paidAt: null };
  const events = [invoiceEvent(scope, 'created', created, at), invoiceEvent(scope, 'finalized', finalized, at)];
  if (invoice.status === 'paid') events.push(invoiceEvent(scope, 'paid', invoice, at));
  if (invoice.status === 'uncollectible') events.push(invoiceEvent(scope, 'marked_uncollectible', invoice, at));
  return events;
}

/** Appends an event of a subscription, as it is in this transaction. The caller holds its row. */
export async function appendSubscriptionEvent(
  tx: Tx,
  scope: Scope,
  type: SubscriptionChange,
  subscription: Subscription,
  at: Date,
): Promise<void> {
  await append(tx, subscriptionEvent(scope, type, subscription, at));
}

/** Appends an event of an invoice. */
export async function appendInvoiceEvent(
  tx: Tx,
  scope: Scope,
  type: InvoiceChange,
  invoice: Invoice,
  at: Date,
): Promise<void> {
  await append(tx, invoiceEvent(scope, type, invoice, at));
}
