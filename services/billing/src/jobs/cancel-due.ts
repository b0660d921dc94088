import { type Scope, unscoped } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import { cancelEach, cancelOnClock, mostAtOnce } from '../actions/cancel-due-subscriptions.ts';
import { cancelDueJob } from '../actions/cancel-subscription.ts';
import type { Context } from '../context.ts';

// Test clocks looked at in a run, some three index entries each; the next run goes on behind the last, and begins anew after all of them. A clock that
// moves ends what is due by it itself: this finds who lived on one that was deleted, or came to one that was past their end already.
const clocksAtOnce = 500;

interface FoundRow {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly id: string;
}

const dueByWallClock = unscoped<FoundRow>(
  'subscriptions.ending_by_the_wall_clock',
  'select account_id, test_mode, id from ending_by_the_wall_clock($1, $2)',
);

const endingClocks = unscoped<FoundRow & { readonly ends_until: Date; readonly is_due: boolean }>(
  'subscriptions.clocks_that_end_them',
  'select account_id, test_mode, id, ends_until, is_due from clocks_that_end_subscriptions($1, $2, $3, $4, $5)',
);

/** The last clock that was checked; undefined before the first. */
export interface ClockPlace {
  clock?: { readonly accountId: string; readonly testMode: boolean; readonly id: string };
}

const next = unscoped<{ at: Date | null }>('subscriptions.next_cancellation', 'select next_cancellation($1) as at');

/** Ends subscriptions when they are due. */
export function cancelDue(work: Context): Job {
  const place: ClockPlace = {};
  return {
    name: cancelDueJob,
    // A cancellation wakes the job for its time; this finds who lived on a test clock that was deleted.
    everyMs: 15_000,
    run: async (signal) => (await runDueCancellations(work, signal, place)) || { dueInMs: await nextInMs(work) },
  };
}

async function nextInMs({ database, clock }: Context): Promise<number | undefined> {
  const now = clock.now();
  const at = (await database.row(next, null, [now]))?.at;
  return at ? at.getTime() - now.getTime() : undefined;
}

/** Ends the subscriptions whose period or date of cancellation has come. True when there may be more. */
export async function runDueCancellations(
  work: Context,
  signal?: AbortSignal,
  place: ClockPlace = {},
): Promise<boolean> {
  const rows = await work.database.rows(dueByWallClock, null, [work.clock.now(), mostAtOnce]);
  const isMore = await cancelEach(
    work,
    rows.map((row) => ({ scope: scopeOf(row), id: row.id })),
    signal,
  );
  return (await endOnClocks(work, place, signal)) || isMore;
}

async function endOnClocks(work: Context, place: ClockPlace, signal: AbortSignal | undefined): Promise<boolean> {
  const { accountId, testMode, id } = place.clock ?? { accountId: '', testMode: false, id: '' };
  const clocks = await work.database.rows(endingClocks, null, [
    ...[work.clock.now(), clocksAtOnce],
    ...[accountId, testMode, id],
  ]);
  let isMore = false;
  for (const clock of clocks) {
    if (signal?.aborted) return false;
    if (clock.is_due && (await cancelOnClock(work, scopeOf(clock), clock.id, clock.ends_until, signal))) isMore = true;
  }
  const last = clocks.length < clocksAtOnce ? undefined : clocks.at(-1);
  // Clocks with more due work are checked again first.
  if (!isMore) {
    if (last === undefined) delete place.clock;
    else place.clock = { ...scopeOf(last), id: last.id };
  }
  return isMore;
}

function scopeOf(row: FoundRow): Scope {
  return { accountId: row.account_id, testMode: row.test_mode };
}
