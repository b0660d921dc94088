import type { Job } from '@eligo/service';
import { announceLetterEnd } from '../actions/announce-letter-end.ts';
import { expireLetterIfDue } from '../actions/expire-letter.ts';
import type { Context } from '../context.ts';
import { type DueLetter, dueLetters, dueLettersOnClocks, nextDueLetter } from '../store/due-letters.ts';
import { expireLettersJob } from '../store/letters.ts';
import { lettersToAnnounce, lettersToAnnounceOnClocks, nextLetterToAnnounce } from '../store/letters-to-announce.ts';

// So many at a time that a run stays within seconds; a full batch is followed by the next at once.
const BATCH = 100;

type Needs = Pick<Context, 'database' | 'clock' | 'logger'>;

/** Ends the reviews whose time is over, and announces the ends of letters, by the wall clock or by their customer's test clock. */
export function expireLetters(needs: Needs): Job {
  return {
    name: expireLettersJob,
    // A review lasts for days, so that a run always learns of it before it is due; a test clock that moves wakes the job.
    everyMs: 60_000,
    async run(signal) {
      const { database, clock } = needs;
      const due = await dueLetters(database, clock.now(), BATCH);
      const onClocks = await dueLettersOnClocks(database, BATCH);
      const ending = await lettersToAnnounce(database, clock.now(), BATCH);
      const endingOnClocks = await lettersToAnnounceOnClocks(database, BATCH);
      const ended = await doAll(needs, [...due, ...onClocks], signal, expireLetterIfDue);
      const announced = await doAll(needs, [...ending, ...endingOnClocks], signal, announceLetterEnd);
      // A page by clocks has some of each clock, so more may be due than a page that is not full says.
      const mayBeMore =
        onClocks.length + endingOnClocks.length > 0 || [due, ending].some(({ length }) => length === BATCH);
      if (ended + announced > 0 && mayBeMore) return true;
      const now = clock.now();
      const next = [await nextDueLetter(database, now), await nextLetterToAnnounce(database, now)];
      const times = next.flatMap((at) => (at === undefined ? [] : [at.getTime()]));
      return { dueInMs: times.length === 0 ? undefined : Math.min(...times) - now.getTime() };
    },
  };
}

async function doAll(
  needs: Needs,
  due: readonly DueLetter[],
  signal: AbortSignal,
  act: typeof expireLetterIfDue,
): Promise<number> {
  let done = 0;
  for (const { scope, letterId } of due) {
    if (signal.aborted) break;
    try {
      if (await act(needs, scope, letterId)) done += 1;
    } catch (error) {
      // One that fails must not hold up those behind it.
      needs.logger.error(
        { err: error, letterId },
        'Failed to end a review or to announce the end of a letter; will retry',
      );
    }
  }
  return done;
}
