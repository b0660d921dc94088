import type { Scope, Tx } from '@eligo/postgres';
import type { Subscription } from '@eligo/proto/billing/v1/billing';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Context } from '../context.ts';
import { followSetUpsJob, giveUpSetUp } from '../store/subscription-set-ups.ts';

/**
 * Gives up the set-up of a subscription once the subscription has ended, or has another card than the one that is set up. The job of set-ups then
 * cancels it at the processor. Only a subscription in its first period has a set-up that waits, so the events of renewals ask nothing.
 */
export async function endSetUp(
  { failpoint }: Pick<Context, 'failpoint'>,
  tx: Tx,
  scope: Scope,
  subscription: Subscription,
): Promise<void> {
  const { subscriptionId, checkoutSessionId, status, defaultPaymentMethodId } = subscription;
  if (checkoutSessionId !== undefined) return;
  const isOver = status === 'canceled';
  const isFirstPeriod = subscription.currentPeriodStartMs === subscription.createdAtMs;
  if (!isOver && (!isFirstPeriod || defaultPaymentMethodId === undefined)) return;
  const unlessOf = isOver ? null : (defaultPaymentMethodId ?? null);
  if (!(await giveUpSetUp(tx, scope, subscriptionId, unlessOf))) return;
  wakeJobAfterCommit(tx, followSetUpsJob);
  await failpoint('card_set_up.before_give_up_commit');
}
