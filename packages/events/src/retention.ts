import { type Database, unscoped } from '@eligo/postgres';

/** How many days events are kept after publishing, and their ids after handling. */
export interface Retention {
  /** At least 7; 14 by default. It bounds how old a JetStream directory may come back. */
  readonly outboxDays?: number;
  /**
   * At least 31; 46 by default. A repair may put an event into the stream again after 14 days, where it can be delivered for 30 more: its id must be
   * known until then.
   */
  readonly inboxDays?: number;
}

/** Deletes what is older, at most `batch` of each kind; returns how many rows. A job calls it until it returns little. */
export async function pruneEvents(database: Database, retention: Retention = {}, batch = 5_000): Promise<number> {
  const { outboxDays = 14, inboxDays = 46 } = retention;
  return Number((await database.row(prune, null, [outboxDays, inboxDays, batch]))?.pruned ?? 0n);
}

const prune = unscoped<{ pruned: bigint }>('events.prune', 'select prune_events($1, $2, $3) as pruned');
