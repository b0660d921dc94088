import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { isOwnCard } from '../domain/subscription.ts';
import { owingStatuses } from '../domain/subscription-states.ts';
import { findPendingCharge, noteUpdatedCard } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { findOwingOn } from '../store/owing-subscriptions.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { noteCardUpdate } from '../store/updated-cards.ts';
import { wakeWhenDue } from './wake-when-due.ts';

// Of one card. The schedule tries any others on its next day.
const mostSubscriptions = 100;

/**
 * Charges at once what subscriptions owe on a card whose details its bank has updated, also if the card was refused for good before: it may be another one now.
 * Where a charge of the invoice is under way, of this card or another one, and is declined, the subscription's cards are charged at once after it.
 */
export async function retryWithUpdatedCard(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  paymentMethodId: string,
): Promise<void> {
  await noteCardUpdate(tx, scope, paymentMethodId, clock.now());
  for (const id of await findOwingOn(tx, scope, paymentMethodId, mostSubscriptions)) {
    const subscription = await lockSubscription(tx, scope, id);
    const invoice = subscription && (await lockInvoice(tx, scope, subscription.latestInvoiceId ?? ''));
    if (subscription === undefined || invoice?.status !== 'open') continue;
    await noteUpdatedCard(tx, scope, invoice.id, paymentMethodId);
    const at = await timeOnClock(tx, scope, clock, subscription.testClockId);
    const isDue = subscription.paymentAt !== null && subscription.paymentAt <= at;
    const isCharging = (await findPendingCharge(tx, scope, invoice.id)) !== undefined;
    // Another card than the subscription's may be charged first.
    const isLater = isCharging || (isDue && invoice.payWithPaymentMethodId !== null);
    const { refusedPaymentMethodId: refused, refusedBackupPaymentMethodId: refusedBackup } = invoice;
    const updated = new Set(invoice.updatedPaymentMethodIds);
    if (isLater && isOwnCard(subscription, paymentMethodId)) updated.add(paymentMethodId);
    if (refused === paymentMethodId || refusedBackup === paymentMethodId || updated.has(paymentMethodId)) {
      await saveInvoice(tx, scope, invoice, {
        ...invoice,
        refusedPaymentMethodId: refused === paymentMethodId ? null : refused,
        refusedBackupPaymentMethodId: refusedBackup === paymentMethodId ? null : refusedBackup,
        updatedPaymentMethodIds: [...updated],
      });
    }
    // One that is due earlier is being charged, and its invoice knows of the update.
    if (isDue || !owingStatuses.has(subscription.status)) continue;
    wakeWhenDue(tx, await saveSubscription(tx, scope, subscription, { ...subscription, paymentAt: at }), at);
  }
}
