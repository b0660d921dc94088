import { setTimeout as pause } from 'node:timers/promises';
import { type Scope, withTx } from '@eligo/postgres';
import { eachAtOnce } from '@eligo/service';
import type { Context } from '../context.ts';
import type { TestClock } from '../domain/test-clock.ts';
import { type DueOnClock, dueOnClock, holdSubscription } from '../store/due-subscriptions.ts';
import { holdUntil } from './hold-until.ts';
import { mirrorTestClock } from './mirror-test-clock.ts';
import { runDueStep } from './run-due-step.ts';

// What one look finds: more would only be read again.
const mostAtOnce = 50;
// What another process has taken, or waits to be asked again, is looked for again after this.
const pauseMs = 200;

/** How far it has come: all is done; the signal was aborted after a part of it; nothing more can be done now; or the account took more than its share of the process. */
export type ClockProgress = 'done' | 'stopped' | 'stuck' | 'held';

/**
 * Does what is due by a test clock up to a time of it, in the order of the times: what is due at one time is done at once, and nothing later before all of it.
 * Checkout's clock reaches each time first, and not the end at once: its sessions and letters follow the clock in the same order.
 * With `wait` it looks again and again for what cannot be done now, until the signal is aborted. While other accounts are short of time, it takes the account's share of the process.
 */
export async function runDueOnClock(
  context: Context,
  scope: Scope,
  clockId: string,
  until: Date,
  options: { readonly signal: AbortSignal; readonly wait: boolean },
): Promise<ClockProgress> {
  const { signal, wait } = options;
  let reached: Date | undefined;
  let isAnyDone = false;
  // Checkout is asked only for what can be taken: not again and again for what is held.
  const runNext = async (due: readonly DueOnClock[], at: Date): Promise<boolean> => {
    const ids = takeable(due, at, context.clock.now());
    if (ids.length === 0) return false;
    const isReached = at.getTime() === reached?.getTime();
    if (!isReached && !(await reach(context, scope, { id: clockId, frozenTime: at }, signal))) return false;
    reached = at;
    return runTogether(context, scope, ids);
  };
  const look = async (): Promise<'done' | 'more' | 'stuck'> => {
    const due = await dueOnClock(context.database, scope, clockId, until, mostAtOnce);
    const [first] = due;
    if (first === undefined) return 'done';
    return (await runNext(due, first.dueAt)) ? 'more' : 'stuck';
  };
  // An advance that makes nothing due takes nothing of the share.
  const lookWhileHeld = async (): Promise<'done' | 'held'> =>
    (await dueOnClock(context.database, scope, clockId, until, 1)).length === 0 ? 'done' : 'held';
  const { clockShare } = context;
  while (!signal.aborted) {
    const found = clockShare.mustWait(scope) ? await lookWhileHeld() : await clockShare.run(scope, look);
    if (found === 'done') return 'done';
    if (found === 'more') {
      isAnyDone = true;
      continue;
    }
    if (!wait) return signal.aborted && isAnyDone ? 'stopped' : found;
    await pauseUnlessAborted(signal);
  }
  return 'stopped';
}

// Those that are due at this time and that no process holds.
function takeable(due: readonly DueOnClock[], at: Date, now: Date): string[] {
  return due
    .filter(({ dueAt, heldUntil }) => dueAt.getTime() === at.getTime() && (heldUntil === null || heldUntil <= now))
    .map(({ id }) => id);
}

// Whether checkout has taken the time. It is asked again where it does not answer: one clock must not end the work for the others.
async function reach(
  context: Context,
  scope: Scope,
  clock: Pick<TestClock, 'id' | 'frozenTime'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await mirrorTestClock(context, { caller: context.callerFor(scope), signal }, clock);
    return true;
  } catch (error) {
    if (!signal.aborted)
      context.logger.warn(
        { err: error, testClockId: clock.id },
        'Checkout did not take the time of a test clock; will retry',
      );
    return false;
  }
}

async function runTogether(context: Context, scope: Scope, ids: string[]): Promise<boolean> {
  const { clockShare } = context;
  let done = false;
  let begun = 0;
  await eachAtOnce(ids, { atOnce: clockShare.stepsAtOnce(scope) }, async (id) => {
    // The first one is done in any case.
    if (begun++ > 0 && clockShare.isSpent(scope)) return;
    if ((await hold(context, scope, id)) && (await runDueStep(context, scope, id))) done = true;
  });
  return done;
}

function hold(context: Context, scope: Scope, id: string): Promise<boolean> {
  const now = context.clock.now();
  return withTx(context.database, scope, (tx) => holdSubscription(tx, scope, id, now, holdUntil(context)));
}

async function pauseUnlessAborted(signal: AbortSignal): Promise<void> {
  try {
    await pause(pauseMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
