import { type Scope, withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { needsSetUp } from '../domain/set-up.ts';
import type { Subscription } from '../domain/subscription.ts';
import { findSubscription } from '../store/subscriptions.ts';
import { recordSetUp } from './record-set-up.ts';

/**
 * The secret with which the customer sets up the card of a subscription that charges nothing yet; undefined where nothing waits for them. Checkout begins the
 * set-up, or goes on with it: there is one for each subscription, however often this is asked.
 */
export async function secretOfSetUp(
  { checkout, failpoint }: Pick<Context, 'checkout' | 'failpoint'>,
  call: Call,
  subscription: Subscription,
): Promise<string | undefined> {
  if (!needsSetUp(subscription)) return undefined;
  const { clientSecret } = await checkout.setUpSubscription(asked(subscription, false), call);
  await failpoint('set_up_outcome.asked');
  return clientSecret;
}

/** Whether the end of the first period of a subscription depends on a card that its customer may have set up, and that is not known here yet. */
export function mayBeSetUp(subscription: Subscription): boolean {
  return subscription.defaultPaymentMethodId === null && needsSetUp(subscription);
}

/**
 * Learns whether the customer set up a card for a subscription without one, and ends the wait: what the subscription charges next is charged to that card. Returns
 * the subscription as it is then. Throws while the processor does not say.
 */
export async function endSetUpWait(context: Context, scope: Scope, subscription: Subscription): Promise<Subscription> {
  if (!mayBeSetUp(subscription)) return subscription;
  const call = { caller: context.callerFor(scope), timeoutMs };
  const answer = await context.checkout.setUpSubscription(asked(subscription, true), call);
  const { paymentMethodId, namedPaymentMethodId } = answer;
  await context.failpoint('set_up_outcome.answered');
  if (paymentMethodId === undefined) return subscription;
  const saved = { subscriptionId: subscription.id, paymentMethodId, namedPaymentMethodId };
  await withTx(context.database, scope, (tx) => recordSetUp(context, tx, scope, saved));
  await context.failpoint('set_up_outcome.recorded');
  return (await findSubscription(context.database, scope, subscription.id)) ?? subscription;
}

// Checkout's own budget for a look at the processor, and what the way takes.
const timeoutMs = 8_000;

function asked(subscription: Subscription, giveUp: boolean) {
  const { id, customerId, defaultPaymentMethodId, createdAt, currentPeriodEnd } = subscription;
  // As long as the first period lasts. A test clock passes it sooner.
  const expiresInMs = BigInt(currentPeriodEnd.getTime() - createdAt.getTime());
  const card = defaultPaymentMethodId === null ? {} : { paymentMethodId: defaultPaymentMethodId };
  return { subscriptionId: id, customerId, expiresInMs, giveUp, ...card };
}
