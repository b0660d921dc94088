import type { ConsumerDefinition } from '@eligo/events';
import { recordAwaited } from '../actions/record-awaited.ts';
import type { Context } from '../context.ts';

/** Checkout's word on what became of a first payment that waited for its customer. */
export function chargeAuthentications(context: Pick<Context, 'clock'>): ConsumerDefinition {
  return {
    consumer: 'charge-authentications',
    subscriptions: [{ from: 'checkout', types: ['command.charge.authenticated'] }],
    async handle(tx, event) {
      if (event.object.case !== 'chargeAuthenticated') return;
      const scope = { accountId: event.accountId, testMode: event.testMode };
      await recordAwaited(context, tx, scope, event.object.value);
    },
  };
}
