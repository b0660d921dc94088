import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Subscription } from '../domain/subscription.ts';
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
 * subscription owes by then is charged to it. A second record of the same changes nothing.
 */
export async function recordSetUp(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  { subscriptionId, paymentMethodId, namedPaymentMethodId }: CardOfSetUp,
): Promise<void> {
  const before = await lockSubscription(tx, scope, subscriptionId);
  if (before === undefined || ended.has(before.status)) return;
  const { defaultPaymentMethodId } = before;
  const isRecorded = defaultPaymentMethodId === paymentMethodId && paymentMethodId !== namedPaymentMethodId;
  // The partner has named another card meanwhile.
  if (isRecorded || (defaultPaymentMethodId !== null && defaultPaymentMethodId !== namedPaymentMethodId)) return;
  const at = await timeOnClock(tx, scope, clock, before.testClockId);
  const owes = owing.has(before.status) && (before.paymentAt === null || before.paymentAt > at);
  const after = { ...before, defaultPaymentMethodId: paymentMethodId, ...(owes ? { paymentAt: at } : {}) };
  const saved = await saveSubscription(tx, scope, before, after);
  wakeWhenDue(tx, saved, at);
  await appendSubscriptionEvent(tx, scope, 'updated', saved, at);
}

const ended: ReadonlySet<Subscription['status']> = new Set(['canceled', 'incomplete_expired']);
const owing: ReadonlySet<Subscription['status']> = new Set(['past_due', 'unpaid']);
