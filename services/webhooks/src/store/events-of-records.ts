import { type Db, type Scope, scoped } from '@eligo/postgres';
import type { EventOfRecord } from '../domain/stored-event.ts';
import { type DeliveryRow, deliveryColumns, deliveryOfRow } from './deliveries.ts';

// A session has some five events, an intent four. Most accounts have one or two endpoints; one with a thousand shows the first few.
const mostOfRecord = 20;
const mostEvents = 100;
const mostDeliveries = 5;

/** The latest events of some records with their deliveries, newest first, as long as events are kept. */
export async function listEventsOfRecords(
  db: Db,
  scope: Scope,
  recordIds: readonly string[],
): Promise<{ events: EventOfRecord[]; hasMore: boolean }> {
  const rows = await db.rows(select, scope, [recordIds, mostOfRecord, mostEvents + 1, mostDeliveries + 1]);
  const events = new Map<string, EventRow[]>();
  for (const row of rows) events.set(row.event, [...(events.get(row.event) ?? []), row]);
  const found = [...events.values()].slice(0, mostEvents);
  return {
    events: found.map((of) => eventOfRows(of.slice(0, mostDeliveries))),
    hasMore: events.size > mostEvents || found.some((of) => of.length > mostDeliveries),
  };
}

type EventRow = { event: string; type: string; occurred_at: Date } & (DeliveryRow | { id: null });

function eventOfRows(rows: readonly EventRow[]): EventOfRecord {
  const [first] = rows;
  if (first === undefined) throw new Error('An event has no row');
  return {
    eventId: first.event,
    eventType: first.type,
    occurredAt: first.occurred_at,
    deliveries: rows.flatMap((row) => (row.id === null ? [] : [deliveryOfRow(row)])),
  };
}

const select = scoped<EventRow>(
  'events.of_records',
  `select e.id as event, e.event_type as type, e.occurred_at, d.*
     from (
       select l.id, l.event_type, l.occurred_at from unnest($3::text[]) as r (id)
       cross join lateral (
         select v.id, v.event_type, v.occurred_at from webhooks.events v
          where v.account_id = $1 and v.test_mode = $2 and v.record_id = r.id order by v.id desc limit $4) l
       order by l.id desc limit $5) e
     left join lateral (
       select ${deliveryColumns} from webhooks.deliveries w
        where w.account_id = $1 and w.test_mode = $2 and w.event_id = e.id order by w.endpoint_id limit $6) d on true
    order by e.id desc, d.endpoint_id`,
);
