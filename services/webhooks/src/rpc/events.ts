import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import type { Implementation } from '@eligo/rpc';
import { retryEvent } from '../actions/retry-event.ts';
import type { Context } from '../context.ts';
import { eventMessage } from '../messages/records.ts';
import { findEvent, listEvents } from '../store/events.ts';

/** The account's events of the last 30 days. */
export function eventMethods(webhooks: Context): Implementation<typeof WebhooksService> {
  const { database } = webhooks;
  return {
    async getEvent({ id }, { scope }) {
      const event = await findEvent(database, scope, id);
      if (event === undefined) throw new Failure('event_not_found');
      return eventMessage(event);
    },
    async listEvents({ page, eventType }, { scope }) {
      const { events, hasMore } = await listEvents(database, scope, { eventType }, pageOf(page));
      return { events: events.map(eventMessage), hasMore };
    },
    async retryEvent({ id }, { scope }) {
      return eventMessage(await retryEvent(webhooks, scope, id));
    },
  };
}
