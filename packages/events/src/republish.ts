import { type Database, unscoped, withTx } from '@eligo/postgres';
import { wakeRelay } from './wake.ts';

/**
 * Republishes events that the outbox still holds: every consumer receives them again, and those that have handled them drop the
 * repetition. What may have been published within the last minutes is left out: the server would take it for a duplicate. What is not published
 * yet is on its way and counts as asked for. Returns what was asked for, and what has to wait; what is in neither is not there any more.
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
     select event_id, exists (select from outbox_queue q where q.event_id = o.event_id offset 0) as is_queued,
            coalesce(published_at > clock_timestamp() - make_interval(secs => $2), false) as is_marked
     from outbox o where event_id = any($1) and payload is not null
   ), recent as (
     -- What was published lately is no older than this.
     select coalesce(min(oldest_event_id), '~') as event_id from outbox_positions
     where ended_at > clock_timestamp() - make_interval(secs => $2)
   ), asked as (
     insert into outbox_queue (event_id, queued_again_at) select f.event_id, now() from found f, recent r
     where not f.is_queued and not f.is_marked and f.event_id < r.event_id
     on conflict do nothing returning event_id
   )
   select f.event_id, case when f.is_queued or a.event_id is not null then 'asked' else 'too_recent' end as state
   from found f left join asked a using (event_id) order by f.event_id`,
);
