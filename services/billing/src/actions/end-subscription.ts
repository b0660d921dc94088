import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { RefundRequestedSchema } from '@eligo/proto/events/v1/events';
import type { Subscription } from '../domain/subscription.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { saveSubscription } from '../store/subscriptions.ts';
import { appendSubscriptionEvent } from './billing-events.ts';

/**
 * Ends a subscription. What it still owes is not collected any more: its open invoice becomes uncollectible, and what one of two cards has paid of it is
 * refunded by a command, once. The caller holds its row and has seen that no charge is under way.
 */
export async function endSubscription(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  changes: Partial<Pick<Subscription, 'canceledAt' | 'heldUntil'>> | undefined,
  at: Date,
): Promise<Subscription> {
  const after: Subscription = {
    ...before,
    status: 'canceled',
    canceledAt: at,
    paymentAt: null,
    noticeAt: null,
    ...changes,
  };
  await giveUpOpenInvoice(tx, scope, before, at);
  const saved = await saveSubscription(tx, scope, before, after);
  await appendSubscriptionEvent(tx, scope, 'deleted', saved, at);
  return saved;
}

async function giveUpOpenInvoice(tx: Tx, scope: Scope, { id, latestInvoiceId }: Subscription, at: Date): Promise<void> {
  const invoice = latestInvoiceId === null ? undefined : await lockInvoice(tx, scope, latestInvoiceId);
  if (invoice?.status !== 'open') return;
  await saveInvoice(tx, scope, invoice, { ...invoice, status: 'uncollectible' });
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
