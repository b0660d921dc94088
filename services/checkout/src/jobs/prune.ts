import { pruneEvents } from '@eligo/events';
import { type Database, pruneKeys } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { pruneSessionKeys } from '../store/session-keys.ts';

const BATCH = 1_000;

/** Deletes expired rows: idempotency keys after 30 days, published events after their retention. */
export function pruneOldRows(database: Database): Job {
  return {
    name: 'prune',
    everyMs: 600_000,
    async run() {
      const answers = await pruneKeys(database, BATCH);
      const sessions = await pruneSessionKeys(database, BATCH);
      const events = await pruneEvents(database, {}, BATCH);
      // Events are the sum of several batches.
      return [answers, sessions, events].some((rows) => rows >= BATCH);
    },
  };
}
