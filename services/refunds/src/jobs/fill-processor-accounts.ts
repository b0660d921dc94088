import { withTx } from '@eligo/postgres';
import { fillProcessorAccounts } from '@eligo/processor';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { fillProcessorAccount, nextWithoutProcessor } from '../store/items-without-processor.ts';

// Rows in one transaction: a few milliseconds, in which the refund of one of them waits.
const BATCH = 200;

/** Stores where the money of the refunds of the release before this one is. */
export function fillProcessors({
  database,
  processors,
  logger,
}: Pick<Context, 'database' | 'processors' | 'logger'>): Job {
  return fillProcessorAccounts(
    processors,
    {
      next: (after) => nextWithoutProcessor(database, after),
      async fill(scope, account) {
        return (await withTx(database, scope, (tx) => fillProcessorAccount(tx, scope, account, BATCH))) === BATCH;
      },
    },
    ({ accountId }) =>
      logger.error(
        { accountId },
        'Money of an account has no stored processor, and none is configured for the account',
      ),
  );
}
