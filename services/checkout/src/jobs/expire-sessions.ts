import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { expireIfDue } from '../actions/end-session.ts';
import type { Context } from '../context.ts';
import { deletedClocks, leaveDeletedClock, noteClockLeft } from '../store/deleted-clocks.ts';
import {
  type DuePlace,
  type DueSession,
  dueSessions,
  dueSessionsOnClocks,
  nextDueSession,
} from '../store/due-sessions.ts';
import { settleClock, settledClocks, testClocksJob } from '../store/test-clocks.ts';

// So many at a time that a run stays within seconds; a full batch is followed by the next at once.
const BATCH = 200;
// Sessions that are due and being charged are passed over, so many pages of them in a run. An outage of the processor can leave thousands; the next
// run goes on where this one ended, and begins anew after the last.
const PAGES = 5;
// A session that was begun on a clock is written by then: no call lasts longer than 30 s.
const writtenWithinMs = 60_000;

type Needs = Pick<Context, 'database' | 'clock' | 'logger'>;

/** Expires the sessions whose time has come, by the wall clock or by their test clock. What was on a test clock that is deleted continues by the wall clock. */
export function expireSessions(needs: Needs): Job {
  let place: DuePlace | undefined;
  const expireByWallClock = async (signal: AbortSignal): Promise<boolean> => {
    for (let page = 0; page < PAGES && !signal.aborted; page++) {
      const { due, last } = await dueSessions(needs.database, needs.clock.now(), BATCH, place);
      place = last;
      if (await expireAll(needs, due, signal)) return last !== undefined;
      if (last === undefined) return false;
    }
    return false;
  };
  return {
    name: testClocksJob,
    // A session lives 30 minutes at least, so that a run always learns of it before it is due; a test clock that moves wakes the job. What was due
    // while it was being charged is found by this.
    everyMs: 15_000,
    async run(signal) {
      const left = await leaveDeletedClocks(needs);
      const byWallClock = await expireByWallClock(signal);
      // A page has some of each clock, so more may be due than a page that is not full says.
      const byTestClocks = await expireAll(needs, await dueSessionsOnClocks(needs.database, BATCH), signal);
      await settleClocks(needs);
      return left || byWallClock || byTestClocks || { dueInMs: await nextDueInMs(needs) };
    },
  };
}

async function nextDueInMs({ database, clock }: Needs): Promise<number | undefined> {
  const now = clock.now();
  const next = await nextDueSession(database, now);
  return next && next.getTime() - now.getTime();
}

// Whether any expired. What was skipped is due again, and no reason to go round at once.
async function expireAll(needs: Needs, due: readonly DueSession[], signal: AbortSignal): Promise<boolean> {
  let expired = 0;
  for (const { scope, sessionId } of due) {
    if (signal.aborted) return false;
    try {
      if (await expireIfDue(needs, scope, sessionId)) expired += 1;
    } catch (error) {
      // One that fails must not keep those behind it from expiring.
      needs.logger.error({ err: error, sessionId }, 'Failed to expire a checkout session; will retry');
    }
  }
  return expired > 0;
}

// Whether any was on one, so that more may be.
async function leaveDeletedClocks({ database, clock }: Needs): Promise<boolean> {
  let left = 0;
  for (const { scope, id } of await deletedClocks(database, BATCH)) {
    const lateAt = new Date(clock.now().getTime() - writtenWithinMs);
    await withTx(database, scope, async (tx) => {
      left += await leaveDeletedClock(tx, scope, id, BATCH);
      await noteClockLeft(tx, scope, id, lateAt);
    });
  }
  return left > 0;
}

async function settleClocks({ database }: Needs): Promise<void> {
  for (const { scope, id, time } of await settledClocks(database, BATCH)) {
    await withTx(database, scope, (tx) => settleClock(tx, scope, id, time));
  }
}
