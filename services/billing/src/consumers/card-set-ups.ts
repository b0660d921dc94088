import type { ConsumerDefinition } from '@eligo/events';
import { recordSetUp } from '../actions/record-set-up.ts';
import type { Context } from '../context.ts';

/** Checkout's word on the card that the customer of a subscription set up. */
export function cardSetUps(context: Pick<Context, 'clock' | 'failpoint'>): ConsumerDefinition {
  return {
    consumer: 'card-set-ups',
    subscriptions: [{ from: 'checkout', types: ['command.card.set_up'] }],
    async handle(tx, event) {
      if (event.object.case !== 'cardSetUp') return;
      const scope = { accountId: event.accountId, testMode: event.testMode };
      await recordSetUp(context, tx, scope, event.object.value);
    },
  };
}
