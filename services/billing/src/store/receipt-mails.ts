import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** A mail that this process may send until its lease ends. */
export interface ClaimedMail {
  readonly id: string;
  readonly receiptId: string;
  readonly epoch: number;
  /** This try included. */
  readonly tries: number;
}

/** What became of a try. */
export type MailRecord =
  | { readonly status: 'sent' }
  | { readonly status: 'failed'; readonly code: string }
  | { readonly status: 'pending'; readonly code: string; readonly pauseMs: number };

/** Adds a mail of a receipt, due now. Returns false, and adds nothing, while another mail waits or if this cause had its mail. */
export async function addMail(
  tx: Tx,
  scope: Scope,
  mail: { readonly id: string; readonly receiptId: string; readonly cause: 'issued' | null; readonly at: Date },
): Promise<boolean> {
  return (await tx.execute(insert, scope, [mail.id, mail.receiptId, mail.cause, mail.at])) === 1;
}

/** Claims a due mail for `leaseMs`; undefined if it is not due any more. A crash leaves it due when the lease ends. */
export async function claimMail(tx: Tx, scope: Scope, id: string, leaseMs: number): Promise<ClaimedMail | undefined> {
  const row = await tx.row(claim, scope, [id, leaseMs]);
  return row && { id, receiptId: row.receipt_id, epoch: row.epoch, tries: row.tries };
}

/** Records a try; false if another process has claimed the mail meanwhile. */
export async function recordMail(tx: Tx, scope: Scope, mail: ClaimedMail, record: MailRecord): Promise<boolean> {
  const code = record.status === 'sent' ? null : record.code;
  const pauseMs = record.status === 'pending' ? record.pauseMs : null;
  return (await tx.execute(update, scope, [mail.id, mail.epoch, record.status, code, pauseMs])) === 1;
}

/** Due mails of all accounts, the longest due first. */
export async function dueMails(db: Db, most: number): Promise<{ scope: Scope; id: string }[]> {
  const rows = await db.rows(due, null, [most]);
  return rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, id: row.id }));
}

/** When the next mail of any account is due, or undefined. */
export async function nextMailAt(db: Db): Promise<Date | undefined> {
  return (await db.row(next, null, []))?.at ?? undefined;
}

const insert = scoped(
  'receipt_mails.insert',
  `insert into receipt_mails (account_id, test_mode, id, receipt_id, cause, status, next_try_at, created_at)
   values ($1, $2, $3, $4, $5, 'pending', now(), $6) on conflict do nothing`,
);

const claim = scoped<{ receipt_id: string; epoch: number; tries: number }>(
  'receipt_mails.claim',
  `update receipt_mails set epoch = epoch + 1, tries = tries + 1,
     lease_until = now() + $4 * interval '1 millisecond', next_try_at = now() + $4 * interval '1 millisecond'
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'pending' and next_try_at <= now()
   returning receipt_id, epoch, tries`,
);

const update = scoped(
  'receipt_mails.record',
  `update receipt_mails set status = $5, failure_code = $6, next_try_at = now() + $7 * interval '1 millisecond',
     sent_at = case when $5 = 'sent' then now() end
   where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status = 'pending'`,
);

const due = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'receipt_mails.due',
  'select account_id, test_mode, id from due_receipt_mails($1)',
);

const next = unscoped<{ at: Date | null }>('receipt_mails.next', 'select next_receipt_mail() as at');
