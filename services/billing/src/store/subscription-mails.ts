import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { mailQueue } from './mail-queue.ts';

/** What a mail about a subscription tells: its trial ends, another year begins, or it ended because nobody paid. */
export type SubscriptionMailKind = 'trial_end' | 'renewal' | 'ended';

/** A mail about a subscription. `about` is the end of the trial or of the year, or when it ended. */
export interface SubscriptionMail {
  readonly subscriptionId: string;
  readonly kind: SubscriptionMailKind;
  readonly about: Date;
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
export async function findSubscriptionMail(db: Db, scope: Scope, id: string): Promise<SubscriptionMail | undefined> {
  const row = await db.row(select, scope, [id]);
  return row && { subscriptionId: row.subscription_id, kind: row.kind, about: row.about };
}

const insert = scoped(
  'subscription_mails.insert',
  `insert into subscription_mails (account_id, test_mode, id, subscription_id, kind, about, status, next_try_at, created_at)
   select $1, $2, $3, $4, $5, $6, 'pending', now(), $7 from notice_settings
    where account_id = $1 and test_mode = $2 and ($5 = 'ended' or reminder_days is not null)
   on conflict do nothing`,
);
const select = scoped<{ subscription_id: string; kind: SubscriptionMailKind; about: Date }>(
  'subscription_mails.find',
  'select subscription_id, kind, about from subscription_mails where account_id = $1 and test_mode = $2 and id = $3',
);
