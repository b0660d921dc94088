import { setTimeout as sleep } from 'node:timers/promises';
import { isTransientFailure } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { AccountTurns, type Job, PartlyFailed } from '@eligo/service';
import { continueFanOuts, FanOutFailed, mostEventsTogether } from '../actions/continue-fan-outs.ts';
import type { Context } from '../context.ts';
import { fanOutJob, fanOutTurns } from '../store/fan-outs.ts';
import { scopeKey } from './delivery/lanes.ts';

/**
 * Plans deliveries of events that many endpoints want: one transaction for each account in turn, so that no account's endpoints keep the events of
 * another waiting. After each turn it pauses for as long as the turn took, at most 200 ms: half of the time belongs to the statements of others. A turn that waited for a lock is not
 * followed by a pause as long. An account that took more than its share of the process while others are short of time has no turn until it may go on.
 */
export function continueFanOut(context: Context, onFailure: (error: unknown) => void): Job {
  const failures = new Map<string, Failures>();
  let hasFailed = false;
  const noteFailure = (error: unknown) => {
    hasFailed = true;
    onFailure(error);
  };
  const turns = new AccountTurns(
    (after) => fanOutTurns(context.database, after, accountsInRun),
    async (scope, { signal }) => {
      if (context.share.isSpent(scope)) {
        await sleep(heldPauseMs, undefined, { signal }).catch(() => undefined);
        return true;
      }
      const startedMs = performance.now();
      const isMore = await context.share.run(scope, () => planAround(context, scope, failures, noteFailure));
      const pauseMs = Math.min(longestPauseMs, performance.now() - startedMs);
      if (isMore) await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      return isMore;
    },
    async () => undefined,
  );
  return {
    name: fanOutJob,
    // The consumer wakes the job; this finds what a process that died has left.
    everyMs: 10_000,
    async run(signal) {
      hasFailed = false;
      forgetEnded(failures);
      const next = await turns.run(signal, noteFailure);
      return hasFailed ? new PartlyFailed(next) : next;
    },
  };
}

/** What failed of one account. */
interface Failures {
  /** Events that are passed over, and until when, on the clock of performance.now(). */
  readonly passedOver: Map<string, number>;
  /** Turns that plan one event alone, because one of so many has failed. */
  alone: number;
}

// An account whose last fan-out another process has ended has no turn that would.
function forgetEnded(byAccount: Map<string, Failures>): void {
  const nowMs = performance.now();
  for (const [key, { alone, passedOver }] of byAccount)
    if (alone === 0 && [...passedOver.values()].every((untilMs) => untilMs <= nowMs)) byAccount.delete(key);
}

// Plans around events that fail: an event that failed alone is passed over for a minute.
async function planAround(
  context: Context,
  scope: Scope,
  byAccount: Map<string, Failures>,
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  const key = scopeKey(scope);
  const failures = byAccount.get(key) ?? { passedOver: new Map<string, number>(), alone: 0 };
  const nowMs = performance.now();
  for (const [eventId, untilMs] of failures.passedOver) if (untilMs <= nowMs) failures.passedOver.delete(eventId);
  try {
    const isAlone = failures.alone > 0;
    if (isAlone) failures.alone -= 1;
    return await continueFanOuts(context, scope, {
      except: [...failures.passedOver.keys()],
      mostEvents: isAlone ? 1 : mostEventsTogether,
    });
  } catch (error) {
    const [failed, ...others] = error instanceof FanOutFailed ? error.eventIds : [];
    // No event is at fault, or too many are to plan around them: the account pauses.
    if (
      failed === undefined ||
      isTransientFailure((error as Error).cause) ||
      failures.passedOver.size >= mostPassedOver
    )
      throw error;
    if (others.length === 0) failures.passedOver.set(failed, performance.now() + passedOverMs);
    failures.alone = others.length === 0 ? 0 : mostEventsTogether;
    onFailure(error);
    return true;
  } finally {
    if (failures.alone > 0 || failures.passedOver.size > 0) byAccount.set(key, failures);
    else byAccount.delete(key);
  }
}

// Each plans for some 70 ms at most.
const accountsInRun = 50;
const longestPauseMs = 200;
/** Fifty such accounts keep another one waiting for a second. */
const heldPauseMs = 20;
const mostPassedOver = 16;
const passedOverMs = 60_000;
