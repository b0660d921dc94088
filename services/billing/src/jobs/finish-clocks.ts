import { type Scope, unscoped } from '@eligo/postgres';
import { finishAdvance } from '../actions/test-clocks.ts';
import type { Context } from '../context.ts';
import { findTestClock } from '../store/test-clocks.ts';

const mostAtOnce = 20;

const advancing = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'test_clocks.advancing',
  'select account_id, test_mode, id from advancing_test_clocks($1)',
);

/** Finishes the advances that a crash has left in the middle. */
export async function finishClocks(work: Context, signal: AbortSignal): Promise<void> {
  for (const row of await work.database.rows(advancing, null, [mostAtOnce])) {
    if (signal.aborted) return;
    const scope: Scope = { accountId: row.account_id, testMode: row.test_mode };
    try {
      const clock = await findTestClock(work.database, scope, row.id);
      if (clock?.status === 'advancing')
        await finishAdvance(work, scope, clock, { caller: work.callerFor(scope), signal });
    } catch (error) {
      if (signal.aborted) return;
      // One that fails must not keep those behind it from going on.
      work.logger.error({ err: error, testClockId: row.id }, 'Failed to finish advancing a test clock; will retry');
    }
  }
}
