import type { Subscription } from './subscription.ts';
import type { SubscriptionStatus } from './subscription-states.ts';

/** What is to be done for a subscription when its time comes. */
export type DueStep = 'end' | 'announce_trial_end' | 'collect' | 'renew';

/**
 * What is next to be done for a subscription and when, on its own clock; undefined while nothing is. Of two things at one time the first in the list goes
 * first: a subscription that ends with its period does not renew. One that owes for a period does not renew either: it pays first, and then makes up
 * for the periods that have begun meanwhile. The trigger `set_due` keeps the same time in `due_at`.
 */
export function nextStep(subscription: Subscription): { readonly step: DueStep; readonly at: Date } | undefined {
  if (!living.has(subscription.status)) return undefined;
  const { cancelAt, cancelAtPeriodEnd, currentPeriodEnd, noticeAt, paymentAt } = subscription;
  const candidates: [DueStep, Date | null][] = [
    ['end', cancelAt],
    ['end', cancelAtPeriodEnd ? currentPeriodEnd : null],
    ['announce_trial_end', noticeAt],
    ['collect', paymentAt],
    ['renew', renewing.has(subscription.status) && paymentAt === null ? currentPeriodEnd : null],
  ];
  let next: { step: DueStep; at: Date } | undefined;
  for (const [step, at] of candidates) {
    if (at !== null && (next === undefined || at < next.at)) next = { step, at };
  }
  return next;
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
