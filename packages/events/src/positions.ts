import { type Database, unscoped } from '@eligo/postgres';
import type { Stored } from './publish-batch.ts';

/** What was published, and which of it the queue no longer has to hold. */
export interface Published {
  readonly stored: readonly Stored[];
  /** Ids to take out of the queue. */
  readonly dequeue: readonly string[];
  /** The last place of the stream that was known before. */
  readonly lastSeq: number;
}

/**
 * Notes in one statement that events are published: takes them out of the queue and extends the row of this minute. Fails with a unique
 * violation of `places_ascend` when the stream gave out a place that it had given out before.
 */
export async function recordPublished(database: Database, { stored, dequeue, lastSeq }: Published): Promise<void> {
  if (stored.length === 0 && dequeue.length === 0) return;
  const fresh = stored.flatMap(({ duplicate, streamSeq }) => (duplicate ? [] : [streamSeq]));
  const queued = new Set(dequeue);
  await database.execute(record, null, [
    [...dequeue],
    // A duplicate has an earlier place: it counts to this minute, whose end is behind it.
    stored.length === 0 ? null : Math.max(lastSeq, ...stored.map(({ streamSeq }) => streamSeq)),
    fresh.length === 0 ? null : Math.min(...fresh),
    lowest(stored.map(({ eventId }) => eventId)),
    lowest(stored.flatMap(({ eventId }) => (queued.has(eventId) ? [eventId] : []))),
  ]);
}

/** The last place of the stream that is known to be taken; 0 when none is. */
export async function lastPosition(database: Database): Promise<number> {
  return Number((await database.row(last, null))?.last_seq ?? 0n);
}

// Ids are compared by their bytes, as the server does it.
function lowest(eventIds: readonly string[]): string | null {
  return eventIds.reduce<string | null>((least, id) => (least === null || id < least ? id : least), null);
}

// Not waited for on disk: what a crash forgets is published again under the same id, and taken once.
// The array stands behind a select, so that one plan is kept for all of them (ADR 3).
const record = unscoped(
  'events.record_published',
  `with soon as materialized (select set_config('synchronous_commit', 'off', true) as set),
   dequeued as (
     delete from outbox_queue q using unnest((select $1::text[])) as v (id) where q.event_id = v.id
   )
   insert into outbox_positions as p (minute, last_seq, first_seq, oldest_event_id, oldest_new_event_id)
   select date_trunc('minute', clock_timestamp()), $2::bigint, $3::bigint, $4::text, $5::text
   from soon where soon.set is not null and $2::bigint is not null
   on conflict (minute) do update set
     last_seq = greatest(p.last_seq, excluded.last_seq), first_seq = coalesce(p.first_seq, excluded.first_seq),
     oldest_event_id = least(p.oldest_event_id, excluded.oldest_event_id),
     oldest_new_event_id = least(p.oldest_new_event_id, excluded.oldest_new_event_id), ended_at = excluded.ended_at`,
);
const last = unscoped<{ last_seq: bigint | null }>(
  'events.last_position',
  'select max(last_seq) as last_seq from outbox_positions',
);
