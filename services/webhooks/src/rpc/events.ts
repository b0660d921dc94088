import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import type { Implementation } from '@eligo/rpc';
import { retryEvent } from '../actions/retry-event.ts';
import type { Context } from '../context.ts';
import { eventMessage, eventOfRecordMessage } from '../messages/records.ts';
import { findEvent, listEvents } from '../store/events.ts';
import { listEventsOfRecords } from '../store/events-of-records.ts';

// What a session's timeline has: a hundred letters, and fifty payments with two charges each.
const mostRecords = 400;

/** The account's events of the last 30 days. */
export function eventHandlers(context: Context): Implementation<typeof WebhooksService> {
  const { database } = context;
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
    async listEventsOfRecords({ recordIds }, { scope }) {
      if (recordIds.length > mostRecords) throw new Error(`Events of ${recordIds.length} records were asked for`);
      const { events, hasMore } = await listEventsOfRecords(database, scope, recordIds);
      return { events: events.map(eventOfRecordMessage), hasMore };
    },
    async retryEvent({ id }, { scope }) {
      return eventMessage(await retryEvent(context, scope, id));
    },
  };
}
