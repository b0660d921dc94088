import { AccountTurns, type Job } from '@eligo/service';
import { continueFanOuts } from '../actions/continue-fan-outs.ts';
import type { Context } from '../context.ts';
import { fanOutJob, fanOutTurns } from '../store/fan-outs.ts';

/**
 * Plans deliveries of events that many endpoints want: one transaction for each account in turn, so that no account's endpoints keep the events of
 * another waiting.
 */
export function continueFanOut(context: Context, onFailure: (error: unknown) => void): Job {
  const turns = new AccountTurns(
    (after) => fanOutTurns(context.database, after, accountsInRun),
    (scope) => continueFanOuts(context, scope),
    async () => undefined,
  );
  return {
    name: fanOutJob,
    // The consumer wakes the job; this finds what a process that died has left.
    everyMs: 10_000,
    run: (signal) => turns.run(signal, onFailure),
  };
}

// Each plans for some 70 ms at most.
const accountsInRun = 50;
