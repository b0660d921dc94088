import type { Job } from '@eligo/service';
import { expireLetterIfDue } from '../actions/expire-letter.ts';
import type { Resources } from '../resources.ts';
import { type DueLetter, dueLetters, dueLettersOnClocks, nextDueLetter } from '../store/due-letters.ts';
import { expireLettersJob } from '../store/letters.ts';

// So many at a time that a run stays within seconds; a full batch is followed by the next at once.
const BATCH = 100;

type Needs = Pick<Resources, 'database' | 'clock' | 'logger'>;

/** Ends the reviews whose time is over, by the wall clock or by their customer's test clock. */
export function expireLetters(needs: Needs): Job {
  return {
    name: expireLettersJob,
    // A review lasts for days, so that a run always learns of it before it is due; a test clock that moves wakes the job.
    everyMs: 60_000,
    async run(signal) {
      const { database, clock } = needs;
      const due = await dueLetters(database, clock.now(), BATCH);
      const onClocks = await dueLettersOnClocks(database, BATCH);
      const ended = await expireAll(needs, [...due, ...onClocks], signal);
      if (ended > 0 && (due.length === BATCH || onClocks.length === BATCH)) return true;
      const now = clock.now();
      const next = await nextDueLetter(database, now);
      return { dueInMs: next && next.getTime() - now.getTime() };
    },
  };
}

async function expireAll(needs: Needs, due: readonly DueLetter[], signal: AbortSignal): Promise<number> {
  let ended = 0;
  for (const { scope, letterId } of due) {
    if (signal.aborted) break;
    try {
      if (await expireLetterIfDue(needs, scope, letterId)) ended += 1;
    } catch (error) {
      // One that fails must not keep those behind it from ending.
      needs.logger.error({ err: error, letterId }, 'Failed to end the review of a letter; will retry');
    }
  }
  return ended;
}
