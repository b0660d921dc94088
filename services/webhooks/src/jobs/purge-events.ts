import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { eventRetentionMs } from '../domain/stored-event.ts';
import { findOldEvents, purgeEvents as purge } from '../store/events.ts';
import { scopeKey } from './delivery/lanes.ts';

/** Purges old events, hour by hour. */
export function purgeOldEvents(context: Context): Job {
  return { name: 'purge-events', everyMs: 3_600_000, run: (signal) => purgeEvents(context, signal) };
}

/** Forgets events older than 30 days with their deliveries, some at a time. True when there may be more. */
export async function purgeEvents(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  signal?: AbortSignal,
): Promise<boolean> {
  const before = new Date(clock.now().getTime() - eventRetentionMs);
  const old = await findOldEvents(database, before, mostAtOnce);
  for (const own of Map.groupBy(old, ({ scope }) => scopeKey(scope)).values()) {
    const scope = own[0]?.scope;
    if (signal?.aborted || scope === undefined) return false;
    const eventIds = own.map(({ eventId }) => eventId);
    while (await withTx(database, scope, (tx) => purge(tx, scope, eventIds))) if (signal?.aborted) return false;
  }
  return old.length === mostAtOnce;
}

// Each has a delivery for every endpoint that wanted it, and each of those up to ten attempts: with fifty endpoints that is fifty thousand rows.
const mostAtOnce = 100;
