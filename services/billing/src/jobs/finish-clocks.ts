import type { Scope } from '@eligo/postgres';
import { eachAtOnce, firstTurn, type Job, type NextRun, type TurnPlace } from '@eligo/service';
import { finishAdvance } from '../actions/test-clocks.ts';
import { boundedSignal } from '../bounded-signal.ts';
import type { Context } from '../context.ts';
import { accountsWithAdvancingClocks, advancingClocks, findTestClock } from '../store/test-clocks.ts';

// Accounts of a run, of which each has a turn.
const accountsInRun = 50;
// Accounts that have their turns at the same time: most of a turn is spent waiting for peers.
const atOnce = 4;
// Clocks of an account in its turn, and how long the turn takes. What is left waits for the next one.
const clocksInTurn = 20;
const turnMs = 10_000;
// Accounts whose place is known. Any other begins with its first clock.
const mostPlaces = 1_000;
// An unknown outcome is asked again after a second.
const againMs = 1_000;

/** Where the looks over the accounts, and over the clocks of each, go on. */
export interface ClockPlace {
  account?: TurnPlace;
  readonly clocks: Map<string, string>;
}

/** Finishes advances of test clocks: only what a crash or an aborted call has left. */
export function finishLeftClocks(context: Context): Job {
  const place: ClockPlace = { clocks: new Map() };
  return { name: 'finish-clocks', everyMs: 15_000, run: (signal) => finishClocks(context, signal, place) };
}

/**
 * Finishes the advances that a crash or the end of a call has left in the middle, account by account in turns. Says when to look again if something is left.
 */
export async function finishClocks(
  context: Context,
  signal: AbortSignal,
  place: ClockPlace = { clocks: new Map() },
): Promise<NextRun | undefined> {
  const after = place.account ?? firstTurn;
  const accounts = await accountsWithAdvancingClocks(context.database, after, accountsInRun);
  const last = accounts.length < accountsInRun ? undefined : accounts.at(-1);
  if (last === undefined) delete place.account;
  else place.account = last;
  // The accounts before the place may have more to do.
  let left = last !== undefined || after !== firstTurn;
  await eachAtOnce(accounts, { atOnce, signal }, async (scope) => {
    if (await finishClocksOf(context, scope, signal, place)) left = true;
  });
  return left && !signal.aborted ? { dueInMs: againMs } : undefined;
}

// True if the account has something left to do.
async function finishClocksOf(
  context: Context,
  scope: Scope,
  signal: AbortSignal,
  { clocks }: ClockPlace,
): Promise<boolean> {
  const key = `${scope.accountId} ${scope.testMode}`;
  const bounded = boundedSignal(signal, turnMs);
  const ids = await advancingClocks(context.database, scope, clocks.get(key) ?? '', clocksInTurn);
  // Those before the place may have more to do.
  let left = clocks.has(key) || ids.length === clocksInTurn;
  for (const id of ids) {
    if (bounded.aborted) return true;
    if (clocks.size >= mostPlaces) clocks.clear();
    clocks.set(key, id);
    if (!(await finishClock(context, scope, id, bounded))) left = true;
  }
  if (ids.length < clocksInTurn) clocks.delete(key);
  return left;
}

// One that fails must not keep those behind it from going on: it is tried again with the next run of the job.
async function finishClock(context: Context, scope: Scope, id: string, signal: AbortSignal): Promise<boolean> {
  try {
    const clock = await findTestClock(context.database, scope, id);
    if (clock?.status !== 'advancing') return true;
    const call = { caller: context.callerFor(scope), signal };
    return (await finishAdvance(context, scope, clock, call, { signal, wait: false })) === 'done';
  } catch (error) {
    if (signal.aborted) return false;
    context.logger.error({ err: error, testClockId: id }, 'Failed to finish advancing a test clock; will retry');
    return true;
  }
}
