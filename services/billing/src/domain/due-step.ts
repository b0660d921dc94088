import type { Subscription } from './subscription.ts';
import type { SubscriptionStatus } from './subscription-states.ts';

/** What is to be done for a subscription when its time comes. */
export type DueStep = 'end' | 'announce_trial_end' | 'announce_period_end' | 'collect' | 'expire' | 'renew';

/**
 * What is next to be done for a subscription and when, on its own clock; undefined while nothing is. Of two things at one time the first in the list goes
 * first: a subscription that ends with its period does not renew. One that owes for a period does not renew either: it pays first, and then makes up
 * for the periods that have begun meanwhile. The trigger `set_due` keeps the same time in `due_at`.
 */
export function nextStep(subscription: Subscription): { readonly step: DueStep; readonly at: Date } | undefined {
  // One that has ended can still be paid for what it owed, if the partner asks for it.
  if (subscription.status === 'canceled' && subscription.paymentAt !== null) {
    return { step: 'collect', at: subscription.paymentAt };
  }
  if (!living.has(subscription.status)) return undefined;
  const { currentPeriodEnd, expiresAt, noticeAt, paymentAt, remindAt } = subscription;
  const renews = renewing.has(subscription.status) && paymentAt === null;
  const candidates: [DueStep, Date | null][] = [
    ['end', endsAt(subscription)],
    ['announce_trial_end', noticeAt],
    ['announce_period_end', renews ? remindAt : null],
    ['collect', paymentAt],
    ['expire', expiresAt],
    ['renew', renews ? currentPeriodEnd : null],
  ];
  let next: { step: DueStep; at: Date } | undefined;
  for (const [step, at] of candidates) {
    if (at !== null && (next === undefined || at < next.at)) next = { step, at };
  }
  return next;
}

/** When a subscription is to end; null for one that goes on, and for one whose last period has not begun. */
export function endsAt(subscription: Ending): Date | null {
  const { cancelAt, cancelAtPeriodEnd, currentPeriodEnd } = subscription;
  if (!cancelAtPeriodEnd || owesFirstPeriod(subscription)) return cancelAt;
  return cancelAt !== null && cancelAt < currentPeriodEnd ? cancelAt : currentPeriodEnd;
}

/** Whether its partner ended the trial, and the first period is to be charged. If the subscription is to end with its period, it ends with that one. */
export function owesFirstPeriod({ status, trialCutShort }: Pick<Subscription, 'status' | 'trialCutShort'>): boolean {
  return status === 'trialing' && trialCutShort;
}

type Ending = Pick<Subscription, 'cancelAt' | 'cancelAtPeriodEnd' | 'currentPeriodEnd' | 'status' | 'trialCutShort'>;

/** Whether a subscription is to end where its present period does, and not within it. */
export function endsWithPeriod(subscription: Ending): boolean {
  return endsAt(subscription)?.getTime() === subscription.currentPeriodEnd.getTime();
}

/** Whether a subscription of this status has not ended. */
export function isLiving(status: SubscriptionStatus): boolean {
  return living.has(status);
}

const living: ReadonlySet<SubscriptionStatus> = new Set([
  'incomplete',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
]);
const renewing: ReadonlySet<SubscriptionStatus> = new Set(['trialing', 'active']);
