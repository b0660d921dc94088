import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { mailQueue } from './mail-queue.ts';

/** The mails of receipts. */
export const receiptMails = mailQueue('receipt', 'receipt_id');

/** Adds a mail of a receipt, due now. Returns false, and adds nothing, while another mail waits or if this cause had its mail. */
export async function addMail(
  tx: Tx,
  scope: Scope,
  mail: { readonly id: string; readonly receiptId: string; readonly cause: 'issued' | null; readonly at: Date },
): Promise<boolean> {
  return (await tx.execute(insert, scope, [mail.id, mail.receiptId, mail.cause, mail.at])) === 1;
}

const insert = scoped(
  'receipt_mails.insert',
  `insert into receipt_mails (account_id, test_mode, id, receipt_id, cause, status, next_try_at, created_at)
   values ($1, $2, $3, $4, $5, 'pending', now(), $6) on conflict do nothing`,
);

/** Ends the mails of these receipts that wait, because their shopper was erased. */
export async function giveUpMails(tx: Tx, scope: Scope, receiptIds: readonly string[]): Promise<void> {
  await tx.execute(giveUp, scope, [receiptIds]);
}

const giveUp = scoped<never>(
  'receipt_mails.give_up',
  `update billing.receipt_mails set status = 'failed', failure_code = 'erased', next_try_at = null, lease_until = null
   where account_id = $1 and test_mode = $2 and receipt_id = any($3::text[]) and status = 'pending'`,
);
