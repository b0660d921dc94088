import type { ConsumerDefinition } from '@eligo/events';
import { afterCommit } from '@eligo/postgres';
import { startSubscription } from '../actions/start-subscription.ts';
import type { Arrivals } from '../arrivals.ts';

/** Checkout's command to make the subscription of a session that has just been completed. */
export function subscriptionStartConsumer(arrivals: Arrivals): ConsumerDefinition {
  return {
    consumer: 'subscription-start',
    subscriptions: [{ from: 'checkout', types: ['command.subscription.start'] }],
    async handle(tx, event) {
      if (event.object.case !== 'startSubscription') return;
      const command = event.object.value;
      await startSubscription(tx, { accountId: event.accountId, testMode: event.testMode }, command);
      afterCommit(tx, () => arrivals.announce(command.subscriptionId));
    },
  };
}
