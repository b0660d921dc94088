import { type Db, maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import { mailQueue } from './mail-queue.ts';

/** What a mail about a subscription tells: its trial ends, another year begins, or it ended because nobody paid. */
export type SubscriptionMailKind = 'trial_end' | 'renewal' | 'ended';

/** A mail about a subscription. `about` is the end of the trial or of the year, or when it ended. */
export interface SubscriptionMail {
  readonly subscriptionId: string;
  readonly kind: SubscriptionMailKind;
  readonly about: Date;
}

/** A mail that an invoice of a subscription was paid. */
export interface PaymentMail {
  readonly kind: 'paid';
  readonly invoiceId: string;
}

/** The mails about subscriptions. */
export const subscriptionMails = mailQueue('subscription', 'subscription_id');

/** Adds a mail, due now. Returns false, and adds nothing, if the account mails none of its kind, or if it was added before. */
export async function addSubscriptionMail(
  tx: Tx,
  scope: Scope,
  mail: SubscriptionMail & { readonly id: string; readonly at: Date },
): Promise<boolean> {
  return (await tx.execute(insert, scope, [mail.id, mail.subscriptionId, mail.kind, mail.about, mail.at])) === 1;
}

/** What a mail is about. */
export async function findSubscriptionMail(
  db: Db,
  scope: Scope,
  id: string,
): Promise<SubscriptionMail | PaymentMail | undefined> {
  const row = await db.row(select, scope, [id]);
  if (row === undefined) return undefined;
  const { subscription_id: subscriptionId, kind, about, invoice_id: invoiceId } = row;
  return kind === 'paid' ? { kind, invoiceId: invoiceId ?? '' } : { subscriptionId, kind, about };
}

/** Adds mails that invoices were paid, at most 16, due now; answers how many. None if the account does not mail that; an invoice has one at most. */
export function addPaymentMails(
  tx: Tx,
  scope: Scope,
  mails: readonly {
    readonly id: string;
    readonly invoiceId: string;
    readonly subscriptionId: string;
    readonly paidAt: Date;
  }[],
): Promise<number> {
  const rows = mails.map(({ id, invoiceId, subscriptionId, paidAt }) => ({
    ...{ id, invoice_id: invoiceId, subscription_id: subscriptionId },
    about: paidAt,
  }));
  return tx.execute(insertPaid, scope, [JSON.stringify(rows)]);
}

const insert = scoped(
  'subscription_mails.insert',
  `insert into subscription_mails (account_id, test_mode, id, subscription_id, kind, about, status, next_try_at, created_at)
   select $1, $2, $3, $4, $5, $6, 'pending', now(), $7 from notice_settings
    where account_id = $1 and test_mode = $2 and ($5 = 'ended' or reminder_days is not null)
   on conflict do nothing`,
);
const insertPaid = scoped(
  'subscription_mails.insert_paid',
  `insert into subscription_mails (account_id, test_mode, id, subscription_id, kind, about, invoice_id, status, next_try_at, created_at)
   select $1, $2, p.id, p.subscription_id, 'paid', p.about, p.invoice_id, 'pending', now(), p.about
   from notice_settings n cross join lateral (
     select m.* from json_to_recordset($3::json) as m (id text, subscription_id text, about timestamptz, invoice_id text) limit ${maxGroupSize}) p
   where n.account_id = $1 and n.test_mode = $2 and n.mails_invoices
   on conflict do nothing`,
);
const select = scoped<{
  subscription_id: string;
  kind: SubscriptionMailKind | 'paid';
  about: Date;
  invoice_id: string | null;
}>(
  'subscription_mails.find',
  'select subscription_id, kind, about, invoice_id from subscription_mails where account_id = $1 and test_mode = $2 and id = $3',
);
