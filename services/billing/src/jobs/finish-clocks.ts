import { type Scope, unscoped } from '@eligo/postgres';
import type { Job, NextRun } from '@eligo/service';
import { finishAdvance } from '../actions/test-clocks.ts';
import { boundedSignal } from '../bounded-signal.ts';
import type { Context } from '../context.ts';
import { findTestClock } from '../store/test-clocks.ts';

const mostAtOnce = 20;

const advancing = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'test_clocks.advancing',
  'select account_id, test_mode, id from advancing_test_clocks($1)',
);

// A clock with more to do than this is gone on with in the next run: the others wait.
const clockMs = 10_000;
// An unknown outcome is asked again after a second.
const againMs = 1_000;

/** Finishes advances of test clocks: only what a crash or an aborted call has left. */
export function finishLeftClocks(context: Context): Job {
  return { name: 'finish-clocks', everyMs: 15_000, run: (signal) => finishClocks(context, signal) };
}

/** Finishes the advances that a crash or the end of a call has left in the middle. Says when to look again if something is left. */
export async function finishClocks(context: Context, signal: AbortSignal): Promise<NextRun | undefined> {
  let left = false;
  for (const row of await context.database.rows(advancing, null, [mostAtOnce])) {
    if (signal.aborted) return undefined;
    const scope: Scope = { accountId: row.account_id, testMode: row.test_mode };
    try {
      const clock = await findTestClock(context.database, scope, row.id);
      if (clock?.status !== 'advancing') continue;
      const call = { caller: context.callerFor(scope), signal };
      const bounded = boundedSignal(signal, clockMs);
      const progress = await finishAdvance(context, scope, clock, call, { signal: bounded, wait: false });
      if (progress !== 'done') left = true;
    } catch (error) {
      if (signal.aborted) return undefined;
      // One that fails must not keep those behind it from going on.
      context.logger.error({ err: error, testClockId: row.id }, 'Failed to finish advancing a test clock; will retry');
    }
  }
  return left ? { dueInMs: againMs } : undefined;
}
