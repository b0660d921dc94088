import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { owingStatuses } from '../domain/subscription-states.ts';
import { noteUpdatedCard } from '../store/invoice-charges.ts';
import { lockInvoice, saveInvoice } from '../store/invoices.ts';
import { findOwingOn } from '../store/owing-subscriptions.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { wakeWhenDue } from './wake-when-due.ts';

// Of one card. The schedule tries any others on its next day.
const mostSubscriptions = 100;

/**
 * Charges at once what subscriptions owe on a card whose details its bank has updated, also if the card was refused for good before: it may be another one now. A
 * charge of it that is under way and declined is followed by another one at once.
 */
export async function retryWithUpdatedCard(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  paymentMethodId: string,
): Promise<void> {
  for (const id of await findOwingOn(tx, scope, paymentMethodId, mostSubscriptions)) {
    const subscription = await lockSubscription(tx, scope, id);
    const invoice = subscription && (await lockInvoice(tx, scope, subscription.latestInvoiceId ?? ''));
    if (subscription === undefined || invoice?.status !== 'open') continue;
    await noteUpdatedCard(tx, scope, invoice.id, paymentMethodId);
    if (!owingStatuses.has(subscription.status)) continue;
    const at = await timeOnClock(tx, scope, clock, subscription.testClockId);
    const { refusedPaymentMethodId: refused, refusedBackupPaymentMethodId: refusedBackup } = invoice;
    if (refused === paymentMethodId || refusedBackup === paymentMethodId) {
      await saveInvoice(tx, scope, invoice, {
        ...invoice,
        refusedPaymentMethodId: refused === paymentMethodId ? null : refused,
        refusedBackupPaymentMethodId: refusedBackup === paymentMethodId ? null : refusedBackup,
      });
    }
    // One that is due earlier is being charged, and its charge knows of the update.
    const isDue = subscription.paymentAt !== null && subscription.paymentAt <= at;
    if (isDue) continue;
    wakeWhenDue(tx, await saveSubscription(tx, scope, subscription, { ...subscription, paymentAt: at }), at);
  }
}
