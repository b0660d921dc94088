import { type Database, unscoped, withTx } from '@eligo/postgres';
import { wakeRelay } from './wake.ts';

/**
 * Has events published again that the outbox still holds: every consumer is given them once more, and those that have dealt with them drop the
 * repetition. What was published within the last minutes is left out: the server would take it for a duplicate. What is not published yet is
 * on its way and counts as asked for. Returns what was asked for, and what has to wait; what is in neither is not there any more.
 */
export async function publishAgain(
  database: Database,
  eventIds: readonly string[],
): Promise<{ asked: string[]; tooRecent: string[] }> {
  const rows = await withTx(database, null, (tx) => tx.rows(again, null, [eventIds, windowSeconds]));
  wakeRelay(database);
  const idsOf = (state: string) => rows.filter((row) => row.state === state).map((row) => row.event_id);
  return { asked: idsOf('asked'), tooRecent: idsOf('too_recent') };
}

// The stream's window for duplicates, and ten seconds for clocks.
const windowSeconds = 130;

const again = unscoped<{ event_id: string; state: 'asked' | 'too_recent' }>(
  'events.publish_again',
  `with found as (
     select event_id, published_at from outbox where event_id = any($1) and payload is not null for no key update
   ), reset as (
     update outbox o set published_at = null, stream_seq = null from found f
     where o.event_id = f.event_id and f.published_at < clock_timestamp() - make_interval(secs => $2)
     returning o.event_id
   )
   select f.event_id, case when f.published_at is null or r.event_id is not null then 'asked' else 'too_recent' end as state
   from found f left join reset r using (event_id) order by f.event_id`,
);
