import type { Job } from '@eligo/service';
import { expireIfDue } from '../actions/end-session.ts';
import type { Resources } from '../resources.ts';
import { dueSessions } from '../store/due-sessions.ts';

// So many at a time that a run stays within seconds; a full batch is followed by the next at once.
const BATCH = 200;

/** Expires the sessions whose time has come, by the wall clock or by their test clock. */
export function expireSessions(resources: Pick<Resources, 'database' | 'clock'>): Job {
  return {
    name: 'expire-sessions',
    everyMs: 2_000,
    async run(signal) {
      const due = await dueSessions(resources.database, resources.clock.now(), BATCH);
      let expired = 0;
      for (const { scope, sessionId } of due) {
        if (signal.aborted) return false;
        if (await expireIfDue(resources, scope, sessionId)) expired += 1;
      }
      // What was skipped has a charge under way and is due again; it alone is no reason to go round at once.
      return due.length === BATCH && expired > 0;
    },
  };
}
