import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { clearStaleContent, staleContent } from '../store/evidence-files.ts';

/** A page of files of at most 4.5 MB is deleted within a second; a full page is followed by the next at once. */
const page = 100;

/** Deletes the content of files of evidence whose upload was given up. */
export function deleteStaleEvidence({ database }: Context): Job {
  return {
    name: 'delete-stale-evidence',
    everyMs: 300_000,
    async run(signal) {
      const stale = await staleContent(database, page);
      for (const { scope, key } of stale) {
        if (signal.aborted) return false;
        await clearStaleContent(database, scope, key);
      }
      return stale.length === page;
    },
  };
}
