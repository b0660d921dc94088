import type { ConsumerDefinition } from '@eligo/events';
import { acceptCommand } from '../actions/accept-command.ts';
import type { Context } from '../context.ts';

/** Takes the refunds that billing decides when a subscription is canceled, and checkout when a session's payment came apart. */
export function refundCommands(context: Context): ConsumerDefinition {
  return {
    consumer: 'refund-commands',
    subscriptions: [
      { from: 'billing', types: ['command.refund'] },
      { from: 'checkout', types: ['command.refund'] },
    ],
    async handle(tx, event) {
      if (event.object.case !== 'refundRequested') throw new Error('A refund command has no payload');
      const { accountId, testMode } = event;
      await acceptCommand(context, tx, { accountId, testMode }, event.object.value);
    },
  };
}
