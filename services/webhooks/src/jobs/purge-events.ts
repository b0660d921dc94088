import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { eventRetentionMs } from '../domain/stored-event.ts';
import { findOldEvents, purgeEvents as purge } from '../store/events.ts';
import { scopeKey } from './delivery/lanes.ts';

/** Purges old events, hour by hour. */
export function purgeOldEvents(context: Context): Job {
  const failed = new Set<string>();
  return { name: 'purge-events', everyMs: 3_600_000, run: (signal) => purgeEvents(context, signal, failed) };
}

/**
 * Forgets events older than 30 days with their deliveries, some at a time. True when there may be more. A failure stops only its account: its events
 * are put into `failed` and passed over until there are no others, and the run fails at its end.
 */
export async function purgeEvents(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  signal?: AbortSignal,
  failed: Set<string> = new Set(),
): Promise<boolean> {
  const before = new Date(clock.now().getTime() - eventRetentionMs);
  const most = mostAtOnce + failed.size;
  const found = await findOldEvents(database, before, most);
  const old = found.filter(({ eventId }) => !failed.has(eventId));
  const errors: unknown[] = [];
  for (const own of Map.groupBy(old, ({ scope }) => scopeKey(scope)).values()) {
    const scope = own[0]?.scope;
    if (signal?.aborted || scope === undefined) return false;
    const eventIds = own.map(({ eventId }) => eventId);
    try {
      while (await withTx(database, scope, (tx) => purge(tx, scope, eventIds))) if (signal?.aborted) return false;
    } catch (error) {
      errors.push(error);
      for (const eventId of eventIds) failed.add(eventId);
    }
  }
  const isMore = found.length === most;
  if (!isMore || failed.size > mostFailed) failed.clear();
  if (errors.length > 0) throw new AggregateError(errors, 'The old events of some accounts could not be purged');
  return isMore;
}

// Each has a delivery for every endpoint that wanted it, and each of those up to ten attempts: with fifty endpoints that is fifty thousand rows.
const mostAtOnce = 100;
// Bounds what the finder reads. With more there is a fault that is not one account's.
const mostFailed = 1_000;
