import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Database, unscoped } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { largestEventBytes } from './event-size.ts';

/** An event to publish. */
export interface OutboxRow {
  readonly event_id: string;
  readonly aggregate_id: string;
  readonly aggregate_seq: bigint;
  readonly type: string;
  readonly test_mode: boolean;
  readonly payload: Buffer;
}

/** Where the stream has stored an event. */
export interface Place {
  readonly eventId: string;
  readonly streamSeq: number;
}

/** What waits to be published. */
export interface Waiting {
  readonly rows: readonly OutboxRow[];
  /** Ids in the queue whose event the outbox does not hold any more: there is nothing to publish. */
  readonly gone: readonly string[];
  /** Whether more may wait than these. */
  readonly isFull: boolean;
}

/** How many events are read at once: some 5 MB of usual events, and 50 ms of publishing. */
export const BATCH_ROWS = 500;

/**
 * A batch ends with the event that reaches this size, so it has 16 MiB at most. The 500 rows alone would be gigabytes of the largest events, in a process that
 * has 384 MB.
 */
export const BATCH_BYTES = largestEventBytes;

/**
 * The next events to publish, oldest first. An event waits for the one before it in its aggregate, which may have a higher id: two processes' clocks
 * differ. If every event of a page waits, the next page is read.
 */
export async function readQueue(database: Database): Promise<Waiting> {
  const rows: OutboxRow[] = [];
  const gone: string[] = [];
  const passed = new Set<string>();
  let held = 0;
  for (let after = ''; ; ) {
    const found = await database.rows(queue, null, [after]);
    let bytes = 0;
    for (const { previous_waiting: previous, payload, ...row } of found) {
      bytes += payload?.length ?? 0;
      if (previous !== null && !passed.has(previous)) {
        held += 1;
        continue;
      }
      passed.add(row.event_id);
      if (payload === null) gone.push(row.event_id);
      else rows.push({ ...row, payload });
    }
    const isFull = found.length === BATCH_ROWS || bytes >= BATCH_BYTES;
    if (passed.size > 0 || !isFull) return { rows, gone, isFull: isFull || held > 0 };
    after = found.at(-1)?.event_id ?? after;
  }
}

/** The event as it is published: the column's number is added to the encoded rest, which is how protobuf joins two parts. */
export function encodedEvent(row: OutboxRow): Uint8Array {
  const seq = new BinaryWriter().tag(seqField, WireType.Varint).int64(row.aggregate_seq).finish();
  return Buffer.concat([row.payload, seq]);
}

const seqField = EventSchema.field.aggregateSeq.number;

/** SQL for the first of these rows, up to the one whose payload makes them `BATCH_BYTES`. Postgres knows a payload's size without reading it. */
export function upToBatchBytes(columns: string, rows: string): string {
  return `select ${columns} from (
     select ${columns}, sum(octet_length(payload)) over (order by event_id rows between unbounded preceding and 1 preceding) as bytes_before
     from (${rows}) found
   ) counted where coalesce(bytes_before, 0) < ${BATCH_BYTES} order by event_id`;
}

/** Whether the outbox holds an event. */
export async function hasEvent(database: Database, eventId: string): Promise<boolean> {
  return (await database.row(holds, null, [eventId])) !== undefined;
}

/** How far the relay is behind: events that wait (counted up to 100,000), and how long the oldest has waited. For metrics and alerts. */
export async function outboxLag(database: Database): Promise<{ waiting: number; oldestMs: number }> {
  const row = await database.row(lag, null);
  return { waiting: Number(row?.waiting ?? 0n), oldestMs: Number(row?.oldest_ms ?? 0) };
}

/** The oldest event that is not published yet, and how long it has waited for that; undefined if none waits. */
export function oldestUnpublished(database: Database): Promise<{ event_id: string; age_ms: number } | undefined> {
  return database.row(oldest, null);
}

// `offset 0` keeps the look-up of the event behind the queue's order, whatever the planner believes of the queue's size. The first event of an
// aggregate has none before it. Of another one only the last one before it is looked up: an aggregate may have hundreds of thousands of events, and as many waiting ones.
const queue = unscoped<Omit<OutboxRow, 'payload'> & { payload: Buffer | null; previous_waiting: string | null }>(
  'events.queue',
  upToBatchBytes(
    'event_id, aggregate_id, aggregate_seq, type, test_mode, payload, previous_waiting',
    `
   select q.event_id, o.aggregate_id, o.aggregate_seq, o.type, o.test_mode, o.payload,
          case when o.aggregate_seq > 1 then (
            select waits.event_id from (
              select event_id from outbox earlier where earlier.aggregate_id = o.aggregate_id and earlier.aggregate_seq < o.aggregate_seq
              order by earlier.aggregate_seq desc limit 1
            ) previous, lateral (select event_id from outbox_queue where event_id = previous.event_id offset 0) waits
          ) end as previous_waiting
   from outbox_queue q
   left join lateral (
     select aggregate_id, aggregate_seq, type, test_mode, payload from outbox where event_id = q.event_id offset 0
   ) o on true
   where q.event_id > $1
   order by q.event_id limit ${BATCH_ROWS}`,
  ),
);
const holds = unscoped<{ event_id: string }>('events.holds', 'select event_id from outbox where event_id = $1');
// One row, whatever the backlog.
const oldestWaiting = `select event_id, extract(epoch from clock_timestamp() - coalesce(q.queued_again_at, o.created_at))::float8 * 1000 as age_ms
   from (select event_id, queued_again_at from outbox_queue order by event_id limit 1) q join outbox o using (event_id)`;
const oldest = unscoped<{ event_id: string; age_ms: number }>('events.oldest_unpublished', oldestWaiting);
const lag = unscoped<{ waiting: bigint; oldest_ms: number | null }>(
  'events.lag',
  `select (select count(*) from (select from outbox_queue limit 100000) counted) as waiting,
          (select age_ms from (${oldestWaiting}) oldest) as oldest_ms`,
);
