import { type Scope, unscoped } from '@eligo/postgres';
import { cancelIfDue } from '../actions/cancel-subscription.ts';
import type { Work } from '../work.ts';

const mostAtOnce = 50;

const due = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'subscriptions.due_cancellations',
  'select account_id, test_mode, id from due_cancellations($1, $2)',
);

/** Ends the subscriptions whose period or date of cancellation has come. True when there may be more. */
export async function runDueCancellations(work: Work, signal?: AbortSignal): Promise<boolean> {
  const rows = await work.database.rows(due, null, [work.clock.now(), mostAtOnce]);
  for (const row of rows) {
    if (signal?.aborted) return false;
    const scope: Scope = { accountId: row.account_id, testMode: row.test_mode };
    try {
      await cancelIfDue(work, scope, row.id);
    } catch (error) {
      // One that fails must not keep those behind it from ending.
      work.logger.error({ err: error, subscriptionId: row.id }, 'a due subscription could not be ended');
    }
  }
  return rows.length === mostAtOnce;
}
