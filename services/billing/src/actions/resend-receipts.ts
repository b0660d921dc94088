import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { addMail } from '../store/receipt-mails.ts';
import { findReceiptOfSession } from '../store/receipts.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { mailReceiptsJob } from './keep-receipt.ts';

/**
 * Mails the receipt of a subscription's first payment again (interface, Subscriptions), with the documents that exist. While a mail of it
 * waits, none is added. Returns the ids of the receipts; none where the shopper was not mailed one.
 */
export async function resendReceipts(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  subscriptionId: string,
): Promise<string[]> {
  return withTx(database, scope, async (tx) => {
    const subscription = await findSubscription(tx, scope, subscriptionId);
    if (subscription === undefined) throw new Failure('subscription_not_found');
    const { checkoutSessionId } = subscription;
    const receiptId = checkoutSessionId === null ? undefined : await findReceiptOfSession(tx, scope, checkoutSessionId);
    if (receiptId === undefined) return [];
    await addMail(tx, scope, { id: newId('receipt_mail'), receiptId, cause: null, at: clock.now() });
    wakeJobAfterCommit(tx, mailReceiptsJob);
    return [receiptId];
  });
}
