import { type Db, joinedBytes, type Page, readPage, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { NewEvent, StoredEvent } from '../domain/stored-event.ts';

/** Keeps events, and gives the ids of those that were not kept already. */
export async function insertEvents(tx: Tx, scope: Scope, events: readonly NewEvent[]): Promise<Set<string>> {
  const bodies = joinedBytes(events.map(({ body }) => body));
  const kept = await tx.rows(insert, scope, [
    events.map(({ eventId }) => eventId),
    events.map(({ eventType }) => eventType),
    bodies.starts,
    bodies.lengths,
    events.map(({ requestId }) => requestId),
    events.map(({ traceparent }) => traceparent),
    events.map(({ occurredAt }) => occurredAt),
    events.map(({ createdAt }) => createdAt),
    bodies.bytes,
    events.map(({ recordId }) => recordId),
  ]);
  return new Set(kept.map(({ id }) => id));
}

/** The event, or undefined when there is none any more. */
export async function findEvent(db: Db, scope: Scope, eventId: string): Promise<StoredEvent | undefined> {
  const row = await db.row(select, scope, [eventId]);
  return row === undefined ? undefined : fromRow(row);
}

/** Those of these events that are still kept, in the order of their ids. */
export async function findEvents(db: Db, scope: Scope, eventIds: readonly string[]): Promise<StoredEvent[]> {
  return (await db.rows(selectAll, scope, [eventIds])).map(fromRow);
}

/** A page of the account's events, newest first. */
export async function listEvents(
  db: Db,
  scope: Scope,
  filter: { eventType?: string | undefined },
  page: Page,
): Promise<{ events: StoredEvent[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<EventRow>(
    db,
    scope,
    {
      table: 'events',
      id: 'id',
      columns: columns.map((column) => `events.${column}`),
      filter: (query) => {
        if (filter.eventType !== undefined) query.where('events.event_type', filter.eventType);
      },
    },
    page,
  );
  return { events: rows.map(fromRow), hasMore };
}

/** Events of all accounts from before this time, the oldest first. */
export async function findOldEvents(db: Db, before: Date, most: number): Promise<{ scope: Scope; eventId: string }[]> {
  const rows = await db.rows(findOld, null, [before, most]);
  return rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, eventId: row.id }));
}

/**
 * Forgets these events of the account, with their deliveries and attempts: 5,000 attempts and 2,000 deliveries at a time. True when there may be more:
 * then the events are still there.
 */
export async function purgeEvents(tx: Tx, scope: Scope, eventIds: readonly string[]): Promise<boolean> {
  const gone = await tx.row(purgeDeliveries, scope, [eventIds, mostDeliveries, mostAttempts]);
  if (gone?.deliveries === BigInt(mostDeliveries) || gone?.attempts === BigInt(mostAttempts)) return true;
  await tx.execute(purge, scope, [eventIds]);
  return false;
}

interface EventRow {
  id: string;
  event_type: string;
  body: Buffer;
  request_id: string;
  traceparent: string;
  occurred_at: Date;
  created_at: Date;
  test_mode: boolean;
}

const columns = [
  'id',
  'event_type',
  'body',
  'request_id',
  'traceparent',
  'occurred_at',
  'created_at',
  'test_mode',
] as const;

// The bodies travel as one binary value and are cut apart here: an array of bytes would travel as text, at twice the size.
const insert = scoped<{ id: string }>(
  'events.insert',
  `insert into webhooks.events
     (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at, created_at, record_id)
   select $1, $2, e.id, e.event_type, substring($11::bytea from e.start for e.bytes), e.request_id, e.traceparent, e.occurred_at, e.created_at,
          e.record_id
     from unnest((select $3::text[]), (select $4::text[]), (select $5::integer[]), (select $6::integer[]), (select $7::text[]),
                 (select $8::text[]), (select $9::timestamptz[]), (select $10::timestamptz[]), (select $12::text[]))
       as e (id, event_type, start, bytes, request_id, traceparent, occurred_at, created_at, record_id)
   on conflict do nothing returning id`,
);
const select = scoped<EventRow>(
  'events.get',
  `select ${columns} from webhooks.events where account_id = $1 and test_mode = $2 and id = $3`,
);
const selectAll = scoped<EventRow>(
  'events.get_all',
  `select ${columns} from webhooks.events where account_id = $1 and test_mode = $2 and id = any($3::text[]) order by id`,
);
const findOld = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'events.old',
  'select account_id, test_mode, id from webhooks.old_events($1, $2)',
);
// With a thousand endpoints an event has a thousand deliveries, and each has ten attempts for every retry that its account asked for: one statement for
// all of them would be ended by its time limit. A delivery goes after its attempts, which are found by it.
const mostDeliveries = 2_000;
const mostAttempts = 5_000;
const purgeDeliveries = scoped<{ deliveries: bigint; attempts: bigint }>(
  'events.purge_deliveries',
  `with old as materialized (
     select endpoint_id, id from webhooks.deliveries where account_id = $1 and test_mode = $2 and event_id = any($3::text[]) limit $4
   ), tried as materialized (
     select a.delivery_id, a.started_at, a.epoch
       from old
      cross join lateral (
        select a.delivery_id, a.started_at, a.epoch from webhooks.attempts a
         where a.account_id = $1 and a.test_mode = $2 and a.delivery_id = old.id limit $5
      ) a
      limit $5
   ), forgotten as (
     delete from webhooks.attempts a using tried
      where a.account_id = $1 and a.test_mode = $2
        and a.delivery_id = tried.delivery_id and a.started_at = tried.started_at and a.epoch = tried.epoch
   ), gone as (
     delete from webhooks.deliveries d using old
      where d.account_id = $1 and d.test_mode = $2 and d.endpoint_id = old.endpoint_id and d.id = old.id
        and (select count(*) from tried) < $5
     returning d.id
   )
   select (select count(*) from gone) as deliveries, (select count(*) from tried) as attempts`,
);
const purge = scoped(
  'events.purge',
  'delete from webhooks.events where account_id = $1 and test_mode = $2 and id = any($3::text[])',
);

function fromRow(row: EventRow): StoredEvent {
  return {
    eventId: row.id,
    eventType: row.event_type,
    body: row.body,
    requestId: row.request_id,
    traceparent: row.traceparent,
    occurredAt: row.occurred_at,
    createdAt: row.created_at,
    testMode: row.test_mode,
  };
}
