import { type Database, pruneKeys } from '@eligo/postgres';
import type { Job } from '@eligo/service';

// A statement of a few dozen milliseconds; a full batch is followed by the next at once.
const batch = 1_000;

/** Removes keys that have outlived every retry. */
export function pruneOldKeys(database: Database): Job {
  return {
    name: 'prune-keys',
    everyMs: 3_600_000,
    run: async () => (await pruneKeys(database, batch)) === batch,
  };
}
