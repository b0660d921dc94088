import { Failure } from '@eligo/failures';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { askAwaited } from './ask-awaited.ts';
import { runDueNow } from './run-due-now.ts';

/**
 * Learns what came of an authentication on the page of an invoice, and goes on with the payment. With `giveUp` the customer wants another card, and the charge
 * is ended if the bank still waits.
 */
export async function resumeInvoicePayment(context: Context, call: Call, id: string, giveUp: boolean): Promise<void> {
  const { scope } = call;
  const invoice = await findInvoice(context.database, scope, id);
  if (invoice === undefined) throw new Failure('invoice_not_found');
  if (invoice.subscriptionId === null) return;
  const subscription = await findSubscription(context.database, scope, invoice.subscriptionId);
  if (subscription?.latestInvoiceId === id && (await askAwaited(context, scope, subscription, giveUp)) !== 'none')
    return;
  const pending = await findPendingCharge(context.database, scope, id);
  if (pending?.onPage !== true) return;
  await context.checkout.resumeInvoiceAuthentication({ id, giveUp }, call);
  // Asks for the outcome under the operation of the charge, and charges the second card.
  await runDueNow(context, scope, invoice.subscriptionId);
}
