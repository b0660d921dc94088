import { type Database, withTx } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import { eventRetentionMs } from '../domain/stored-event.ts';
import { purgeEvents as purge, scopesWithOldEvents } from '../store/events.ts';

/** Forgets events older than 30 days with their deliveries, some at a time; says how many. */
export async function purgeEvents(database: Database, clock: Clock, signal?: AbortSignal): Promise<number> {
  const before = new Date(clock.now().getTime() - eventRetentionMs);
  let purged = 0;
  for (const scope of await scopesWithOldEvents(database, before, mostAtOnce)) {
    if (signal?.aborted === true) break;
    purged += await withTx(database, scope, (tx) => purge(tx, scope, before, mostAtOnce));
  }
  return purged;
}

const mostAtOnce = 1_000;
