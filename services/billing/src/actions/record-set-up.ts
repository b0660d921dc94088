import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Subscription } from '../domain/subscription.ts';
import { endedStatuses, owingStatuses } from '../domain/subscription-states.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { appendSubscriptionEvent } from './billing-events.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/** A card that the customer of a subscription set up. */
export interface CardOfSetUp {
  readonly subscriptionId: string;
  readonly paymentMethodId: string;
  /** The card that the set-up began with. */
  readonly namedPaymentMethodId?: string | undefined;
}

/**
 * Makes the card that its customer set up the card of a subscription that has none, or that still has the one which was to be set up, and tells of it. What the
 * subscription owes by then is charged to it. It is recorded once: a card that the partner clears afterwards is not made the default again.
 */
export async function recordSetUp(
  { clock, failpoint }: Pick<Context, 'clock' | 'failpoint'>,
  tx: Tx,
  scope: Scope,
  setUp: CardOfSetUp,
): Promise<void> {
  const before = await lockSubscription(tx, scope, setUp.subscriptionId);
  if (before === undefined || endedStatuses.has(before.status) || before.setUpRecordedAt !== null) return;
  const at = await timeOnClock(tx, scope, clock, before.testClockId);
  const recorded = { ...before, setUpRecordedAt: at };
  if (!takesPlace(setUp, before)) {
    await saveSubscription(tx, scope, before, recorded);
    return;
  }
  const owes = owingStatuses.has(before.status) && (before.paymentAt === null || before.paymentAt > at);
  const after = { ...recorded, defaultPaymentMethodId: setUp.paymentMethodId, ...(owes ? { paymentAt: at } : {}) };
  const saved = await saveSubscription(tx, scope, before, after);
  wakeWhenDue(tx, saved, at);
  await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
  await failpoint('set_up_outcome.before_record_commit');
}

// A card that the partner has named meanwhile stays, and the one that the subscription was created with stays away once the partner has cleared it.
function takesPlace(
  { paymentMethodId, namedPaymentMethodId }: CardOfSetUp,
  { defaultPaymentMethodId }: Subscription,
): boolean {
  return defaultPaymentMethodId === null
    ? paymentMethodId !== namedPaymentMethodId
    : defaultPaymentMethodId === namedPaymentMethodId;
}
