import type { ConsumerDefinition } from '@eligo/events';
import { retryWithUpdatedCard } from '../actions/retry-with-updated-card.ts';
import type { Context } from '../context.ts';

/** Checkout's word that the processor has updated a card by itself. */
export function cardUpdates(context: Pick<Context, 'clock'>): ConsumerDefinition {
  return {
    consumer: 'card-updates',
    subscriptions: [{ from: 'checkout', types: ['command.card.updated'] }],
    async handle(tx, event) {
      if (event.object.case !== 'cardUpdated') return;
      const scope = { accountId: event.accountId, testMode: event.testMode };
      await retryWithUpdatedCard(context, tx, scope, event.object.value.paymentMethodId);
    },
  };
}
