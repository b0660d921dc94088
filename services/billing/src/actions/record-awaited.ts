import type { Scope, Tx } from '@eligo/postgres';
import type { ChargeAuthenticated } from '@eligo/proto/events/v1/events';
import type { Context } from '../context.ts';
import { findPendingCharge } from '../store/invoice-charges.ts';
import { lockSubscription, saveSubscription } from '../store/subscriptions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { recordOutcomeIn } from './record-payment.ts';
import { wakeWhenDue } from './wake-when-due.ts';

/**
 * Records what became of a first payment that waited for its customer. What is left of the invoice is charged next. A process that is about to have the
 * subscription wait finds it changed, and asks again.
 */
export async function recordAwaited(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  charge: ChargeAuthenticated,
): Promise<void> {
  const { subscriptionId, operationId, outcome: status, paymentIntentId, chargeId, failureCode, declineCode } = charge;
  if ((await lockSubscription(tx, scope, subscriptionId)) === undefined) return;
  const pending = await findPendingCharge(tx, scope, charge.invoiceId);
  if (pending?.id !== operationId) return;
  if (status === 'succeeded' || status === 'declined') {
    await recordOutcomeIn(tx, scope, subscriptionId, pending, {
      ...{ status, paymentIntentId, chargeId: chargeId ?? null },
      ...{ failureCode: failureCode ?? null, declineCode: declineCode ?? null, settledAt: clock.now() },
    });
  }
  const subscription = await lockSubscription(tx, scope, subscriptionId);
  if (subscription?.status !== 'incomplete' || status === 'declined') return;
  const at = await timeOnClock(tx, scope, clock, subscription.testClockId);
  // Not when it would have been asked for.
  const due = subscription.paymentAt;
  const paymentAt = due !== null && due < at ? due : at;
  wakeWhenDue(tx, await saveSubscription(tx, scope, subscription, { ...subscription, paymentAt }), at);
}
