import { type StateTable, stateTable } from '@eligo/values';

export type SubscriptionStatus =
  | 'incomplete'
  | 'incomplete_expired'
  | 'trialing'
  | 'active'
  | 'past_due'
  | 'canceled'
  | 'unpaid'
  | 'paused';

/** decisions 7. The trigger `guard_subscription` holds the same table; a test tries every pair in both. */
export const subscriptionStates: StateTable<SubscriptionStatus> = stateTable<SubscriptionStatus>({
  incomplete: ['active', 'incomplete_expired', 'canceled'],
  incomplete_expired: [],
  trialing: ['active', 'paused', 'canceled'],
  active: ['past_due', 'paused', 'canceled'],
  past_due: ['active', 'unpaid', 'canceled'],
  canceled: [],
  unpaid: ['active', 'canceled'],
  paused: ['active', 'canceled'],
});

/** It is over for good. */
export const endedStatuses: ReadonlySet<SubscriptionStatus> = new Set(['canceled', 'incomplete_expired']);

/** An open invoice waits for a card, that of the first period too. */
export const unpaidStatuses: ReadonlySet<SubscriptionStatus> = new Set(['incomplete', 'past_due', 'unpaid']);

/** A renewal has failed, and its invoice is still open. */
export const owingStatuses: ReadonlySet<SubscriptionStatus> = new Set(['past_due', 'unpaid']);
