import { publicEventTypes } from '@eligo/contract';
import type { ConsumerDefinition, HandleEvents } from '@eligo/events';
import type { Webhooks } from '../actions/context.ts';
import { fanOutEvent } from '../actions/fan-out-event.ts';

/** Takes every service's public events, those of this one included, and plans their delivery. */
export function publicEvents(webhooks: Webhooks): ConsumerDefinition {
  const fanOut: HandleEvents = async (tx, events) => {
    await Promise.all(events.map((event) => fanOutEvent(webhooks, tx, event, event)));
  };
  return {
    consumer: 'public-events',
    subscriptions: producers.map((from) => ({ from, types: publicEventTypes })),
    handle: (tx, event) => fanOut(tx, [event]),
    handleAll: fanOut,
  };
}

const producers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'];
