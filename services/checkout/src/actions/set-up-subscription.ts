import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import type { SubscriptionSetUp } from '../domain/subscription-set-up.ts';
import { findCustomer } from '../store/customers.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { insertSetupIntent, isCardSetUp } from '../store/setup-intents.ts';
import { findSetUp, insertSetUp } from '../store/subscription-set-ups.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { followSetUp, type SetUpResult } from './follow-set-up.ts';

/** A subscription that charges nothing yet, as billing has it. */
export interface SubscriptionToSetUp {
  readonly subscriptionId: string;
  readonly customerId: string;
  /** The card that it is to pay with; null where its customer gives one. */
  readonly paymentMethodId: string | null;
  readonly expiresInMs: number;
  /** It waits no longer, and nothing is begun. */
  readonly giveUp: boolean;
}

/**
 * Sets up the card of a subscription for charges without its customer, or goes on with that: a subscription has one set-up at most, however often this is asked.
 * A card that was set up before needs none. Throws `service_unavailable` while the processor does not say; the same call, or the job of set-ups, then goes on.
 */
export async function setUpSubscription(
  context: Context,
  scope: Scope,
  asked: SubscriptionToSetUp,
): Promise<SetUpResult> {
  const known = await findSetUp(context.database, scope, asked.subscriptionId);
  const setUp = known ?? (asked.giveUp ? undefined : await begin(context, scope, asked));
  if (setUp === undefined) return { outcome: 'over' };
  const result = await followSetUp(context, scope, setUp, asked.giveUp);
  if (result === undefined) throw new Failure('service_unavailable', { retryAfterSeconds: 1 });
  return result;
}

async function begin(
  context: Context,
  scope: Scope,
  { subscriptionId, customerId, paymentMethodId, expiresInMs }: SubscriptionToSetUp,
): Promise<SubscriptionSetUp | undefined> {
  const { database, processors, clock } = context;
  const customer = await findCustomer(database, scope, customerId);
  if (customer === undefined || customer.deletedAt !== null) return undefined;
  const { account } = processors.of(scope);
  if (paymentMethodId !== null) {
    const [card] = await findChargeableCards(database, scope, [paymentMethodId]);
    if (card?.customerId !== customerId || (await isCardSetUp(database, scope, paymentMethodId))) return undefined;
    accountToCharge(card, account);
  }
  const made: SubscriptionSetUp = {
    ...{ subscriptionId, customerId, setupIntentId: newId('setup_intent'), namedCardId: paymentMethodId },
    ...{ processorAccount: account, processorSetupIntentId: null, status: 'beginning', tries: 0, isGivenUp: false },
    ...{ savedCardId: null, isExpired: false },
  };
  const begun = await withTx(database, scope, async (tx) => {
    // Another request of the same subscription was faster.
    if (!(await insertSetUp(tx, scope, made, expiresInMs))) return findSetUp(tx, scope, subscriptionId);
    const createdAt = await timeOnClock(tx, scope, clock, customer.testClockId);
    await insertSetupIntent(tx, scope, { id: made.setupIntentId, customerId, paymentMethodId, createdAt }, account);
    await context.failpoint('card_set_up.before_begin_commit');
    return made;
  });
  await context.failpoint('card_set_up.begun');
  return begun;
}
