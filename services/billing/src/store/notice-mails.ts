import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { mailQueue } from './mail-queue.ts';

/** The mails about failed payments. */
export const noticeMails = mailQueue('notice', 'invoice_id');

/** Adds the mail about a failed attempt, due now. Returns false, and adds nothing, if the account mails none, or for an attempt or a day that had its mail. */
export async function addNotice(
  tx: Tx,
  scope: Scope,
  mail: {
    readonly id: string;
    readonly invoiceId: string;
    readonly attempt: number;
    readonly failureDay: number;
    readonly at: Date;
  },
): Promise<boolean> {
  const { id, invoiceId, attempt, failureDay, at } = mail;
  return (await tx.execute(insert, scope, [id, invoiceId, attempt, failureDay, at])) === 1;
}

/** Whether the invoice of a mail has a mail about a later attempt. */
export async function hasLaterNotice(db: Db, scope: Scope, id: string): Promise<boolean> {
  return (await db.row(later, scope, [id])) !== undefined;
}

const insert = scoped(
  'notice_mails.insert',
  `insert into notice_mails (account_id, test_mode, id, invoice_id, attempt, failure_day, status, next_try_at, created_at)
   select $1, $2, $3, $4, $5, $6, 'pending', now(), $7 from notice_settings where account_id = $1 and test_mode = $2
   on conflict do nothing`,
);
const later = scoped<{ found: true }>(
  'notice_mails.later',
  `select true as found from notice_mails m
     join notice_mails later on later.account_id = $1 and later.test_mode = $2 and later.invoice_id = m.invoice_id and later.attempt > m.attempt
   where m.account_id = $1 and m.test_mode = $2 and m.id = $3 limit 1`,
);
