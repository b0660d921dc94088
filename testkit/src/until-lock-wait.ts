import type { TestDatabase } from './test-database.ts';
import { waitUntil } from './wait-until.ts';

/** Waits until a statement in this database waits for a lock: one on this event, or whose text matches a pattern, where these are given. `what` is for the message of the failure. */
export async function untilLockWait(
  admin: TestDatabase['admin'],
  what: string,
  { event = null, pattern = null }: { readonly event?: string | null; readonly pattern?: string | null } = {},
): Promise<void> {
  await waitUntil(async () => (await admin(waiting, [event, pattern])).length > 0, { what });
}

const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
  and wait_event = coalesce($1, wait_event) and query ~ coalesce($2, '')`;
