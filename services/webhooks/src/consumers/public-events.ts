import { publicEventTypes } from '@eligo/contract';
import type { ConsumerDefinition, HandleEvents } from '@eligo/events';
import { fanOutEvents } from '../actions/fan-out-events.ts';
import type { Context } from '../context.ts';

/** Takes every service's public events, those of this one included, and plans their delivery. */
export function publicEvents(context: Context): ConsumerDefinition {
  const fanOut: HandleEvents = async (tx, events) => {
    const [first] = events;
    if (first === undefined) return;
    const { accountId, testMode } = first;
    await fanOutEvents(context, tx, { accountId, testMode }, events);
  };
  return {
    consumer: 'public-events',
    subscriptions: producers.map((from) => ({ from, types: publicEventTypes })),
    handle: (tx, event) => fanOut(tx, [event]),
    handleAll: fanOut,
  };
}

const producers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'];
