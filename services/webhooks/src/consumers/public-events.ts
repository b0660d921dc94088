import { publicEventTypes } from '@eligo/contract';
import type { ConsumerDefinition } from '@eligo/events';
import type { Webhooks } from '../actions/context.ts';
import { fanOutEvent } from '../actions/fan-out-event.ts';

/** Takes every service's public events, those of this one included, and plans their delivery. */
export function publicEvents(webhooks: Webhooks): ConsumerDefinition {
  return {
    consumer: 'public-events',
    sideBySide: true,
    subscriptions: producers.map((from) => ({ from, types: publicEventTypes })),
    async handle(tx, event) {
      const { accountId, testMode } = event;
      await fanOutEvent(webhooks, tx, { accountId, testMode }, event);
    },
  };
}

const producers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'];
