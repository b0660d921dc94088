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
  const [asked, tooRecent]: [string[], string[]] = [[], []];
  for (let at = 0; at < eventIds.length; at += mostAtOnce) {
    const ids = eventIds.slice(at, at + mostAtOnce);
    const rows = await withTx(database, null, (tx) => tx.rows(again, null, [ids, windowSeconds]));
    for (const { event_id, state } of rows) (state === 'asked' ? asked : tooRecent).push(event_id);
    wakeRelay(database);
  }
  return { asked, tooRecent };
}

// Each a transaction of some tens of milliseconds, however many are missing: they go out while the next are asked for.
const mostAtOnce = 1_000;

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
