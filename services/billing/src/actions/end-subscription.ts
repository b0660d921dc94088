import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import type { Invoice } from '../domain/invoice.ts';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { returnCredits } from '../store/prorations.ts';
import { saveSubscription } from '../store/subscriptions.ts';
import { appendInvoiceEvent, appendSubscriptionEvent } from './billing-events.ts';
import { settleRedemptions } from './redeem-discounts.ts';

/**
 * Ends a subscription. What it still owes is not collected any more: its open invoice becomes uncollectible, and what one of two cards has paid of it is
 * refunded by a command, once. The caller holds its row and has seen that no charge is under way.
 */
export async function endSubscription(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  changes: Partial<Pick<Subscription, 'canceledAt' | 'heldUntil' | 'cancelAtPeriodEnd'>> | undefined,
  at: Date,
): Promise<Subscription> {
  const after: Subscription = {
    ...before,
    ...ended,
    status: 'canceled',
    canceledAt: at,
    ...changes,
  };
  const invoice = await openInvoiceOf(tx, scope, before);
  if (invoice !== undefined) {
    const givenUp = await saveInvoice(tx, scope, invoice, { ...invoice, status: 'uncollectible' });
    await appendInvoiceEvent(tx, scope, 'marked_uncollectible', givenUp, at);
    await refundPaidParts(tx, scope, before.id, invoice, at);
  }
  const saved = await saveSubscription(tx, scope, before, after);
  if (before.status === 'incomplete') await settleRedemptions(tx, scope, before, 'release');
  await appendSubscriptionEvent(tx, scope, 'deleted', saved, at);
  return saved;
}

/**
 * Ends a subscription whose first payment was not made in time. Its invoice is void, and what one of two cards has paid of it is refunded. The caller holds its
 * row and has seen that no charge is under way.
 */
export async function expireSubscription(tx: Tx, scope: Scope, before: Subscription, at: Date): Promise<Subscription> {
  const invoice = await openInvoiceOf(tx, scope, before);
  if (invoice !== undefined) await voidInvoiceRow(tx, scope, before.id, invoice, at);
  const saved = await saveSubscription(tx, scope, before, {
    ...before,
    ...ended,
    heldUntil: null,
    status: 'incomplete_expired',
  });
  await settleRedemptions(tx, scope, before, 'release');
  await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
  return saved;
}

/** Voids an invoice with its event; what one of two cards has paid of it is refunded, and credits that it used are left again. The caller holds both rows. */
export async function voidInvoiceRow(
  tx: Tx,
  scope: Scope,
  subscriptionId: string,
  invoice: Invoice,
  at: Date,
): Promise<Invoice> {
  const voided = await saveInvoice(tx, scope, invoice, { ...invoice, status: 'void' });
  await returnCredits(tx, scope, subscriptionId, invoice.id);
  // Also of one that was given up: a payment of it may have been cut short between two cards.
  await refundPaidParts(tx, scope, subscriptionId, invoice, at);
  await appendInvoiceEvent(tx, scope, 'voided', voided, at);
  return voided;
}

const ended = { paymentAt: null, noticeAt: null, expiresAt: null } as const;

async function openInvoiceOf(tx: Tx, scope: Scope, { latestInvoiceId }: Subscription): Promise<Invoice | undefined> {
  const invoice = latestInvoiceId === null ? undefined : await lockInvoice(tx, scope, latestInvoiceId);
  return invoice?.status === 'open' ? invoice : undefined;
}

/** Refunds what cards have paid of an invoice that is not collected any more, by a command for each, once. `id` is its subscription's. */
export async function refundPaidParts(tx: Tx, scope: Scope, id: string, invoice: Invoice, at: Date): Promise<void> {
  const paid = (await loadInvoiceCharges(tx, scope, invoice.id)).filter(({ status }) => status === 'succeeded');
  for (const charge of paid) {
    if (charge.paymentIntentId === null) throw new Error(`Charge ${charge.id} succeeded without an intent`);
    await append(tx, {
      ...scope,
      type: 'command.refund',
      aggregateId: id,
      at,
      object: {
        case: 'refundRequested',
        value: create(RefundRequestedSchema, {
          operationId: `uncollected:${charge.id}`,
          subject: { case: 'paymentIntentId', value: charge.paymentIntentId },
          amountCents: BigInt(charge.amountCents),
          reason: 'payment_incomplete',
          subscriptionId: id,
          invoiceId: invoice.id,
        }),
      },
    });
  }
}
