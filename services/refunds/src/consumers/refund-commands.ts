import type { ConsumerDefinition } from '@eligo/events';
import { acceptCommand } from '../actions/accept-command.ts';
import type { Refunds } from '../actions/context.ts';

/** Takes the refunds that billing decides when a subscription is canceled, and checkout when a session's payment came apart. */
export function refundCommands(refunds: Refunds): ConsumerDefinition {
  return {
    consumer: 'refund-commands',
    subscriptions: [
      { from: 'billing', types: ['command.refund'] },
      { from: 'checkout', types: ['command.refund'] },
    ],
    async handle(tx, event) {
      if (event.object.case !== 'refundRequested') throw new Error('A refund command has no payload');
      const { accountId, testMode } = event;
      await acceptCommand(refunds, tx, { accountId, testMode }, event.object.value);
    },
  };
}
