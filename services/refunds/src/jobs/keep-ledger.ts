import { AccountTurns, eachAtOnce, type Job } from '@eligo/service';
import { postEntries } from '../actions/post-entries.ts';
import { postMovements } from '../actions/post-movements.ts';
import { readBalance } from '../actions/read-balance.ts';
import type { Context } from '../context.ts';
import { dueEntries, nextEntryInMs, postEntriesJob } from '../store/journal-entries.ts';
import { dueFeeds, nextFeedInMs, readBalancesJob } from '../store/ledger-feeds.ts';
import { dueMovements, nextMovementInMs, postMovementsJob } from '../store/processor-transactions.ts';

// Accounts of a run; each posts a page, so that a backlog of one does not keep the others waiting.
const accountsAtOnce = 50;
const feedsOfPage = 50;
// Reads in flight: each waits for the processor most of its time, and makes one call after the other, so that the ledger uses few of its calls.
const atOnce = 2;
// A commit wakes the jobs; this finds what a process that died has left.
const everyMs = 120_000;

/** The jobs that keep the ledger: they post this service's entries, read the balance at the processor, and post what it moved. */
export function keepLedger(context: Context): Job[] {
  const { database, logger } = context;
  const onFailure = (job: string) => (err: unknown) =>
    logger.error({ err, job }, 'Failed to update the ledger; will retry');
  const entryTurns = new AccountTurns(
    (after) => dueEntries(database, after, accountsAtOnce),
    (scope) => postEntries(context, scope),
    () => nextEntryInMs(database),
  );
  const movementTurns = new AccountTurns(
    (after) => dueMovements(database, after, accountsAtOnce),
    (scope) => postMovements(context, scope),
    () => nextMovementInMs(database),
  );
  return [
    {
      name: postEntriesJob,
      everyMs,
      run: (signal) => entryTurns.run(signal, onFailure(postEntriesJob)),
    },
    {
      name: postMovementsJob,
      everyMs,
      run: (signal) => movementTurns.run(signal, onFailure(postMovementsJob)),
    },
    { name: readBalancesJob, everyMs, run: (signal) => readBalances(context, signal, onFailure(readBalancesJob)) },
  ];
}

async function readBalances(
  context: Context,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<unknown> {
  const feeds = await dueFeeds(context.database, feedsOfPage);
  // A read that failed has its lease to wait for.
  await eachAtOnce(feeds, { atOnce, signal }, (feed) => readBalance(context, feed).catch(onFailure));
  return feeds.length === feedsOfPage || { dueInMs: await nextFeedInMs(context.database) };
}
