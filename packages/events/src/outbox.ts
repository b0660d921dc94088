import { create, toBinary } from '@bufbuild/protobuf';
import { type Database, unscoped, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';

/** An event that waits to be published. */
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

/** The next events to publish, oldest first; an event whose aggregate has an earlier one beyond the batch is left for later. */
export function readUnpublished(database: Database, limit: number): Promise<OutboxRow[]> {
  return database.rows(unpublished, null, [limit]);
}

/** The event as it is published: the column's number is added to the encoded rest, which is how protobuf joins two parts. */
export function encodedEvent(row: OutboxRow): Uint8Array {
  const seq = toBinary(EventSchema, create(EventSchema, { aggregateSeq: row.aggregate_seq }));
  return Buffer.concat([row.payload, seq]);
}

/** Notes where events are. Fails with a unique violation on `outbox_stream_seq` when another event has one of the places. */
export async function markPublished(database: Database, places: readonly Place[]): Promise<void> {
  await database.execute(mark, null, [places.map(({ eventId }) => eventId), places.map(({ streamSeq }) => streamSeq)]);
}

/** What the outbox knows of its stream: when it was created, and the last place in it. */
export async function readStreamMemory(
  database: Database,
  stream: string,
): Promise<{ created: string | undefined; lastSeq: number }> {
  const row = await database.row(memory, null, [stream]);
  return { created: row?.created ?? undefined, lastSeq: Number(row?.last_seq ?? 0n) };
}

/** Remembers when the stream was created. */
export async function rememberStream(database: Database, stream: string, created: string): Promise<void> {
  await database.execute(remember, null, [stream, created]);
}

/** Makes all events beyond `lastSeq`, and those of the last ten minutes, unpublished again; returns how many. */
export function unpublish(database: Database, lastSeq: number): Promise<number> {
  // Thirty days of events may be many.
  return withTx(database, null, (tx) => tx.execute(reset, null, [lastSeq]), { statementTimeoutMs: 120_000 });
}

/** How far the relay is behind: events that wait, and the age of the oldest. For metrics and alerts. */
export async function outboxLag(database: Database): Promise<{ waiting: number; oldestMs: number }> {
  const row = await database.row(lag, null);
  return { waiting: Number(row?.waiting ?? 0n), oldestMs: Number(row?.oldest_ms ?? 0) };
}

const unpublished = unscoped<OutboxRow>(
  'events.unpublished',
  `select event_id, aggregate_id, aggregate_seq, type, test_mode, payload
   from outbox o
   where published_at is null and payload is not null
     and not exists (
       select from outbox earlier
       where earlier.aggregate_id = o.aggregate_id and earlier.aggregate_seq < o.aggregate_seq
         and earlier.event_id > o.event_id and earlier.published_at is null and earlier.payload is not null
     )
   order by event_id limit $1`,
);
// Not waited for on disk: what a crash forgets is published again under the same id, and taken once.
// Its arrays stand behind selects, so that one plan is kept for all of them (ADR 3).
const mark = unscoped(
  'events.mark_published',
  `update outbox o set published_at = clock_timestamp(), stream_seq = v.seq
   from unnest((select $1::text[]), (select $2::bigint[])) as v (id, seq), (select set_config('synchronous_commit', 'off', true) as set) soon
   where o.event_id = v.id and soon.set is not null`,
);
const memory = unscoped<{ created: string | null; last_seq: bigint | null }>(
  'events.stream_memory',
  `select (select created from outbox_stream where stream = $1) as created,
          (select max(stream_seq) from outbox where stream_seq is not null) as last_seq`,
);
const remember = unscoped(
  'events.remember_stream',
  `insert into outbox_stream (stream, created) values ($1, $2) on conflict (stream) do update set created = excluded.created`,
);
const reset = unscoped(
  'events.unpublish',
  `update outbox set published_at = null, stream_seq = null
   where stream_seq > $1 or published_at > now() - interval '10 minutes'`,
);
const lag = unscoped<{ waiting: bigint; oldest_ms: number | null }>(
  'events.lag',
  `select count(*) as waiting, extract(epoch from now() - min(created_at))::float8 * 1000 as oldest_ms
   from outbox where published_at is null and payload is not null`,
);
