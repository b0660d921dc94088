import { pruneKeys } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { pruneProcessorEvents } from '../store/processor-events.ts';

// A statement of a few dozen milliseconds; a full batch is followed by the next at once.
const batch = 1_000;

/** Removes keys that have outlived every retry, and events that the processor no longer lists. */
export function pruneOldKeys({ database }: Context): Job {
  return {
    name: 'prune-keys',
    everyMs: 3_600_000,
    async run() {
      const pruned = [await pruneKeys(database, batch), await pruneProcessorEvents(database, batch)];
      return pruned.includes(batch);
    },
  };
}
