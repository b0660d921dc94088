import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Work } from '../actions/work.ts';
import { findAbandonedLines, removeAbandonedLine } from '../store/abandoned-lines.ts';

const BATCH = 200;

// Longer than the thirty days for which a session's creation can be repeated under its key, and than checkout can be away with the news that
// the session was written.
const abandonedAfterMs = 45 * 86_400_000;

/** Removes the products and prices that lines made of sessions that never came to be: the creation failed after its cart was resolved. */
export function removeAbandonedLines({ database, clock }: Work): Job {
  return {
    name: 'remove-abandoned-lines',
    everyMs: 3_600_000,
    async run(signal) {
      const madeBefore = new Date(clock.now().getTime() - abandonedAfterMs);
      const lines = await findAbandonedLines(database, madeBefore, BATCH);
      let removed = 0;
      for (const line of lines) {
        if (signal.aborted) return false;
        const scope = { accountId: line.accountId, testMode: line.testMode };
        if (await withTx(database, scope, (tx) => removeAbandonedLine(tx, scope, line))) removed += 1;
      }
      return lines.length === BATCH && removed > 0;
    },
  };
}
