import { pruneEvents } from '@eligo/events';
import { pruneKeys } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { pruneProcessorEvents } from '../store/processor-events.ts';
import { pruneSessionKeys } from '../store/session-keys.ts';

const BATCH = 1_000;

/** Deletes expired rows: idempotency keys after 30 days, published events after their retention, events that the processor no longer lists. */
export function pruneOldRows({ database }: Context): Job {
  return {
    name: 'prune',
    everyMs: 600_000,
    async run() {
      const answers = await pruneKeys(database, BATCH);
      const sessions = await pruneSessionKeys(database, BATCH);
      const events = await pruneEvents(database, {}, BATCH);
      const processorEvents = await pruneProcessorEvents(database, BATCH);
      // Events are the sum of several batches.
      return [answers, sessions, events, processorEvents].some((rows) => rows >= BATCH);
    },
  };
}
