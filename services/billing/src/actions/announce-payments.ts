import type { Scope, Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import type { Invoice } from '../domain/invoice.ts';
import { addPaymentMails } from '../store/subscription-mails.ts';
import { mailSubscriptionsJob } from './announce-period-end.ts';

/** Has the customers mailed that these invoices of subscriptions were paid, at most 16, each once, if the account mails that. The caller has written the payments. */
export async function announcePayments(tx: Tx, scope: Scope, invoices: readonly Invoice[]): Promise<void> {
  const mails = invoices.flatMap(({ id: invoiceId, subscriptionId, paidAt }) =>
    subscriptionId === null || paidAt === null
      ? []
      : [{ id: newId('subscription_mail'), invoiceId, subscriptionId, paidAt }],
  );
  if ((await addPaymentMails(tx, scope, mails)) > 0) wakeJobAfterCommit(tx, mailSubscriptionsJob);
}
