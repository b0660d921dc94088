import type { Scope, Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import { failureReason } from '../domain/failure-notice.ts';
import type { Invoice } from '../domain/invoice.ts';
import { addNotice } from '../store/notice-mails.ts';

/** The job that mails notices. */
export const mailNoticesJob = 'mail-notices';

/**
 * Has the customer mailed that the last attempt of an invoice failed, once for each attempt and once a day, beside one that asks to confirm the payment, if the account mails why it failed.
 * `refusedForGood`: no card of the subscription is charged again unless the customer does something.
 */
export async function addFailureNotice(
  tx: Tx,
  scope: Scope,
  invoice: Invoice,
  refusedForGood: boolean,
  at: Date,
): Promise<void> {
  const { id: invoiceId, attempts: attempt, firstFailedAt, pageUrl } = invoice;
  // An invoice of an earlier release has no page that the mail could name.
  if (firstFailedAt === null || pageUrl === null) return;
  const failureDay = Math.max(0, Math.floor((at.getTime() - firstFailedAt.getTime()) / 86_400_000));
  const reason = failureReason(invoice);
  const asksToConfirm = reason === 'authentication';
  // An amount that no card can be charged is the shop's to mend, not the customer's.
  const canCustomerFix = reason !== 'too_large';
  const mail = {
    ...{ id: newId('notice_mail'), invoiceId, attempt, failureDay, at, asksToConfirm },
    refusedForGood: refusedForGood && canCustomerFix,
  };
  if (await addNotice(tx, scope, mail)) wakeJobAfterCommit(tx, mailNoticesJob);
}
