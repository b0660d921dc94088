import { type Scope, unscoped } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { cancelDueJob, cancelIfDue } from '../actions/cancel-subscription.ts';
import { dueOnClock } from '../store/subscriptions.ts';
import type { TestClock } from '../store/test-clocks.ts';
import type { Work } from '../work.ts';

const mostAtOnce = 50;

const due = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'subscriptions.due_cancellations',
  'select account_id, test_mode, id from due_cancellations($1, $2)',
);

const next = unscoped<{ at: Date | null }>('subscriptions.next_cancellation', 'select next_cancellation($1) as at');

/** Ends subscriptions when they are due. */
export function cancelDue(work: Work): Job {
  return {
    name: cancelDueJob,
    // A cancellation wakes the job for its time; this finds who lived on a test clock that was deleted.
    everyMs: 15_000,
    run: async (signal) => (await runDueCancellations(work, signal)) || { dueInMs: await nextInMs(work) },
  };
}

async function nextInMs({ database, clock }: Work): Promise<number | undefined> {
  const now = clock.now();
  const at = (await database.row(next, null, [now]))?.at;
  return at ? at.getTime() - now.getTime() : undefined;
}

/** Ends the subscriptions whose period or date of cancellation has come. True when there may be more. */
export async function runDueCancellations(work: Work, signal?: AbortSignal): Promise<boolean> {
  const rows = await work.database.rows(due, null, [work.clock.now(), mostAtOnce]);
  return endAll(
    work,
    rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, id: row.id })),
    signal,
  );
}

/** The same for those that live on a test clock. */
export async function runDueOnClock(
  work: Work,
  scope: Scope,
  clock: TestClock,
  signal?: AbortSignal,
): Promise<boolean> {
  const ids = await dueOnClock(work.database, scope, clock.id, clock.frozenTime, mostAtOnce);
  return endAll(
    work,
    ids.map((id) => ({ scope, id })),
    signal,
  );
}

// True when there may be more; not when none of them could be ended, for then the next look would find the same.
async function endAll(
  work: Work,
  found: readonly { scope: Scope; id: string }[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  let ended = 0;
  for (const { scope, id } of found) {
    if (signal?.aborted) return false;
    try {
      if (await cancelIfDue(work, scope, id)) ended += 1;
    } catch (error) {
      // One that fails must not keep those behind it from ending.
      work.logger.error({ err: error, subscriptionId: id }, 'a due subscription could not be ended');
    }
  }
  return found.length === mostAtOnce && ended > 0;
}
