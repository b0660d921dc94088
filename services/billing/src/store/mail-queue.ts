import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';

/** A mail that this process may send until its lease ends. */
export interface ClaimedMail {
  readonly id: string;
  /** The receipt, invoice or subscription that it is about. */
  readonly subjectId: string;
  readonly epoch: number;
  /** This try included. */
  readonly tries: number;
}

/** What became of a try. `dropped`: there was nothing to say any more. */
export type MailRecord =
  | { readonly status: 'sent' }
  | { readonly status: 'failed' | 'dropped'; readonly code: string }
  | { readonly status: 'pending'; readonly code: string; readonly pauseMs: number };

/** The mails of one kind. */
export interface MailQueue {
  /** Claims the mail of an account that is due longest for `leaseMs`; undefined if none is due. A crash leaves it due when the lease ends. */
  claim(tx: Tx, scope: Scope, leaseMs: number): Promise<ClaimedMail | undefined>;
  /** Records a try; false if another process has claimed the mail meanwhile. */
  record(tx: Tx, scope: Scope, mail: ClaimedMail, record: MailRecord): Promise<boolean>;
  /** The accounts after a place whose mails wait, at most `most`. */
  due(db: Db, after: TurnPlace, most: number): Promise<Turns>;
  /** How long until the next mail of any account is due, negative when one is; undefined when none waits. */
  nextInMs(db: Db): Promise<number | undefined>;
}

/** The queue in `receipt_mails`, `notice_mails` or `subscription_mails`: these tables have the same columns for delivery. */
export function mailQueue(
  kind: 'receipt' | 'notice' | 'subscription',
  subject: 'receipt_id' | 'invoice_id' | 'subscription_id',
): MailQueue {
  const table = `${kind}_mails`;
  const claim = scoped<{ id: string; subject_id: string; epoch: number; tries: number }>(
    `${table}.claim`,
    `update ${table} set epoch = epoch + 1, tries = tries + 1,
       lease_until = now() + $3 * interval '1 millisecond', next_try_at = now() + $3 * interval '1 millisecond'
     where account_id = $1 and test_mode = $2 and id = (
       select id from ${table} where account_id = $1 and test_mode = $2 and status = 'pending' and next_try_at <= now()
       order by next_try_at limit 1 for no key update skip locked)
     returning id, ${subject} as subject_id, epoch, tries`,
  );
  const update = scoped(
    `${table}.record`,
    `update ${table} set status = $5, failure_code = $6, next_try_at = now() + $7 * interval '1 millisecond',
       sent_at = case when $5 = 'sent' then now() end
     where account_id = $1 and test_mode = $2 and id = $3 and epoch = $4 and status = 'pending'`,
  );
  const due = unscoped<TurnRow>(
    `${table}.turns`,
    `select account_id, test_mode, is_due from ${kind}_mail_turns($1, $2, $3)`,
  );
  const next = unscoped<{ due_in_ms: number | null }>(
    `${table}.next`,
    `select extract(epoch from next_${kind}_mail() - clock_timestamp())::float8 * 1000 as due_in_ms`,
  );
  return {
    async claim(tx, scope, leaseMs) {
      const row = await tx.row(claim, scope, [leaseMs]);
      return row && { id: row.id, subjectId: row.subject_id, epoch: row.epoch, tries: row.tries };
    },
    async record(tx, scope, mail, record) {
      const code = record.status === 'sent' ? null : record.code;
      const pauseMs = record.status === 'pending' ? record.pauseMs : null;
      return (await tx.execute(update, scope, [mail.id, mail.epoch, record.status, code, pauseMs])) === 1;
    },
    async due(db, after, most) {
      return turnsOf(await db.rows(due, null, [after.accountId, after.testMode, most]), most);
    },
    async nextInMs(db) {
      return (await db.row(next, null))?.due_in_ms ?? undefined;
    },
  };
}
