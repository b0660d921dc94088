import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { itemsLess } from '../domain/finalized-invoice.ts';
import type { Invoice } from '../domain/invoice.ts';
import { invoiceStates } from '../domain/invoice-states.ts';
import { loadInvoiceLines } from '../store/invoice-lines.ts';
import { loadProratedParts } from '../store/invoice-statements.ts';
import { findInvoice, lockInvoice } from '../store/invoices.ts';
import { findSubscription, lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { askAwaited } from './ask-awaited.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { changeNotNow, refuseWhileCharging, timeOfChange } from './change-subscription.ts';
import { expireSubscription, voidInvoiceRow } from './end-subscription.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Voids an invoice that is open or was given up: nobody owes it any more. What one of two cards has paid of it is refunded. A subscription that owed it is active
 * again, and one whose first invoice it was has expired. Throws `invoice_not_voidable`, and `lock_timeout` while the outcome of a charge is unknown or the test clock
 * passes what is due.
 */
export async function voidInvoice(context: Context, call: Call, id: string): Promise<Invoice> {
  const { scope } = call;
  const known = await findInvoice(context.database, scope, id);
  if (known === undefined) throw new Failure('invoice_not_found');
  const { subscriptionId } = known;
  if (subscriptionId === null || !invoiceStates.canMove(known.status, 'void'))
    throw new Failure('invoice_not_voidable');
  const owing = await findSubscription(context.database, scope, subscriptionId);
  if (owing?.latestInvoiceId === id) await askAwaited(context, scope, owing, true);
  return withTx(context.database, scope, async (tx) => {
    const before = await lockSubscription(tx, scope, subscriptionId);
    const invoice = await lockInvoice(tx, scope, id);
    if (before === undefined || invoice === undefined) throw new Error(`Invoice ${id} has no subscription`);
    const { at, isPassing } = await timeOfChange(context, tx, scope, before);
    if (isPassing) throw changeNotNow();
    if (!invoiceStates.canMove(invoice.status, 'void')) throw new Failure('invoice_not_voidable');
    const isLatest = before.latestInvoiceId === id;
    if (isLatest) await refuseWhileCharging(tx, scope, before);
    if (isLatest && before.status === 'incomplete') {
      await expireSubscription(tx, scope, before, at);
      return (await lockInvoice(tx, scope, id)) ?? invoice;
    }
    const voided = await voidInvoiceRow(tx, scope, subscriptionId, invoice, at);
    if (!isLatest) return voided;
    if (invoice.status !== 'open') {
      // A payment of what was given up may be due, and has not begun.
      if (before.paymentAt !== null)
        await saveSubscription(tx, scope, before, { ...before, paymentAt: null, heldUntil: null });
      return voided;
    }
    const becomesActive = before.status === 'past_due' || before.status === 'unpaid';
    const lines = await loadInvoiceLines(tx, scope, id);
    const prorations = await loadProratedParts(
      tx,
      scope,
      lines.flatMap(({ prorationId }) => prorationId ?? []),
    );
    const saved = await saveSubscription(tx, scope, before, {
      ...before,
      items: itemsLess(before.items, lines, prorations),
      paymentAt: null,
      heldUntil: null,
      status: becomesActive ? 'active' : before.status,
    });
    wakeWhenDue(tx, saved, at);
    if (becomesActive) await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
    return voided;
  });
}
