import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { refuseMorePageTries } from '../domain/payment-tries.ts';
import { loadInvoiceCharges } from '../store/invoice-charges.ts';
import { findInvoice } from '../store/invoices.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { changeNotNow, timeOfChange } from './change-subscription.ts';
import { makeDue } from './pay-invoice.ts';
import { isPayableOnPage } from './read-invoice-page.ts';
import { runDueNow } from './run-due-now.ts';

/** A card as the processor's fields on the page gave it, and where the customer put it. */
export interface TypedCard {
  readonly processorPaymentMethodId: string;
  readonly slot: 'health' | 'other';
}

/**
 * Pays an invoice with the cards that its customer typed on its page, now and with the customer there. A card that pays becomes the subscription's. An invoice
 * that is paid or was given up, and one that is being charged, stays as it is: the page shows it.
 */
export async function payInvoiceOnPage(
  context: Context,
  call: Call,
  id: string,
  cards: readonly TypedCard[],
): Promise<void> {
  const { scope } = call;
  const { database, checkout } = context;
  const invoice = await findInvoice(database, scope, id);
  if (invoice === undefined) throw new Failure('invoice_not_found');
  const subscription =
    invoice.subscriptionId === null ? undefined : await findSubscription(database, scope, invoice.subscriptionId);
  if (subscription === undefined || !isPayableOnPage(invoice, subscription)) return;
  // Before a card is kept.
  if ((await timeOfChange(context, database, scope, subscription)).isPassing) throw changeNotNow();
  refuseMorePageTries(invoice, await loadInvoiceCharges(database, scope, id));
  const adopted: string[] = [];
  // The health card goes first: it is the one that renewals begin with.
  for (const { processorPaymentMethodId, slot } of cards.toSorted((one, other) => one.slot.localeCompare(other.slot))) {
    const card = { invoiceId: id, customerId: invoice.customerId, processorPaymentMethodId, slot };
    adopted.push((await checkout.adoptInvoiceCard(card, call)).paymentMethodId);
  }
  const [standard, backup] = adopted;
  if (standard === undefined) throw Failure.invalid(['body', 'cards'], 'missing', 'Field required');
  await withTx(database, scope, (tx) =>
    makeDue(context, tx, scope, { id, subscriptionId: subscription.id }, { standard, backup, onPage: true }),
  );
  await context.failpoint('invoice.due');
  await runDueNow(context, scope, subscription.id);
}
