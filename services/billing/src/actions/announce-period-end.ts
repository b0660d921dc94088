import type { Scope, Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { newId } from '@eligo/values';
import type { Subscription } from '../domain/subscription.ts';
import { goesOn } from '../domain/subscription-notice.ts';
import { addSubscriptionMail, type SubscriptionMail } from '../store/subscription-mails.ts';
import { clearReminder } from '../store/subscriptions.ts';

/** The job that mails customers about their subscriptions. */
export const mailSubscriptionsJob = 'mail-subscriptions';

/**
 * Has the customer mailed that the trial ends or another year begins, once, if the account mails that and the subscription goes on. A reminder whose time is over, after an
 * outage, is not mailed. The caller holds the row.
 */
export async function announcePeriodEnd(tx: Tx, scope: Scope, subscription: Subscription, at: Date): Promise<void> {
  const { id: subscriptionId, status, currentPeriodEnd: about } = subscription;
  if (goesOn(subscription) && at < about) {
    const kind = status === 'trialing' ? 'trial_end' : 'renewal';
    await addMail(tx, scope, { subscriptionId, kind, about }, at);
  }
  await clearReminder(tx, scope, subscriptionId);
}

/** Has the customer mailed that a subscription ended because its last payment failed, once, if the account mails failures. */
export async function announceEnd(
  tx: Tx,
  scope: Scope,
  { id: subscriptionId, canceledAt: about }: Subscription,
  at: Date,
): Promise<void> {
  if (about !== null) await addMail(tx, scope, { subscriptionId, kind: 'ended', about }, at);
}

async function addMail(tx: Tx, scope: Scope, mail: SubscriptionMail, at: Date): Promise<void> {
  if (await addSubscriptionMail(tx, scope, { ...mail, id: newId('subscription_mail'), at })) {
    wakeJobAfterCommit(tx, mailSubscriptionsJob);
  }
}
