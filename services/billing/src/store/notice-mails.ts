import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { mailQueue } from './mail-queue.ts';

/** The mails about failed payments. */
export const noticeMails = mailQueue('notice', 'invoice_id');

/**
 * Adds the mail about a failed attempt, due now. Returns false, and adds nothing, if the account mails none, or for an attempt that had its mail, or a day that had one of its kind. One that asks to
 * confirm the payment to the bank, or that its card is not charged again, is mailed in live mode also without notice settings, unless the account turned that off; another one only by an account with notice
 * settings.
 */
export async function addNotice(
  tx: Tx,
  scope: Scope,
  mail: {
    readonly id: string;
    readonly invoiceId: string;
    readonly attempt: number;
    readonly failureDay: number;
    readonly asksToConfirm: boolean;
    readonly refusedForGood: boolean;
    readonly at: Date;
  },
): Promise<boolean> {
  const { id, invoiceId, attempt, failureDay, at, asksToConfirm, refusedForGood } = mail;
  const values = [id, invoiceId, attempt, failureDay, at, asksToConfirm, refusedForGood];
  return (await tx.execute(insert, scope, values)) === 1;
}

/** What is known of a mail beside its queue. */
export interface Notice {
  /** Whether it is mailed without notice settings, too. */
  readonly isMailedByDefault: boolean;
  /** Whether it waited for more than two days by the wall clock, longer than all tries take, such as for a mail server to be configured. */
  readonly isLate: boolean;
  /** Whether its invoice has a mail about a later attempt. */
  readonly hasLater: boolean;
}

export async function findNotice(db: Db, scope: Scope, id: string): Promise<Notice | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && { isMailedByDefault: row.asks_to_confirm, isLate: row.is_late, hasLater: row.has_later };
}

// `asks_to_confirm` is true of every mail that needs no notice settings, also of a card that is not charged again.
const insert = scoped(
  'notice_mails.insert',
  `insert into notice_mails (account_id, test_mode, id, invoice_id, attempt, failure_day, status, next_try_at, created_at, asks_to_confirm)
   select $1, $2, $3, $4, $5, $6, 'pending', now(), $7, $8::boolean or not named.yes
     from (select exists (select from notice_settings where account_id = $1 and test_mode = $2) as yes) as named,
       (select exists (select from authentication_notices where account_id = $1 and test_mode = $2 and not is_mailed) as yes) as opted_out
    where (named.yes or (($8::boolean or $9::boolean) and not $2::boolean and not opted_out.yes)) and not ($8::boolean and opted_out.yes)
   on conflict do nothing`,
);
const select = scoped<{ asks_to_confirm: boolean; is_late: boolean; has_later: boolean }>(
  'notice_mails.find',
  `select m.asks_to_confirm, coalesce(m.written_at, m.created_at) < now() - interval '2 days' as is_late, exists (select from notice_mails later where later.account_id = $1 and later.test_mode = $2
       and later.invoice_id = m.invoice_id and later.attempt > m.attempt) as has_later
     from notice_mails m where m.account_id = $1 and m.test_mode = $2 and m.id = $3`,
);
