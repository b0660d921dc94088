import { AccountTurns, type Job } from '@eligo/service';
import { tellJournal } from '../actions/tell-journal.ts';
import type { Context } from '../context.ts';
import { dueJournal, nextJournalInMs, tellJournalJob } from '../store/journal.ts';

// Accounts of a run; each tells a page, so that a backlog of one does not keep the others waiting.
const accountsAtOnce = 50;

/** Tells the ledger what was captured, and what earlier releases had captured: account by account, in pages. */
export function tellJournals(context: Pick<Context, 'database' | 'processors' | 'logger'>): Job {
  const { database, logger } = context;
  const turns = new AccountTurns(
    (after) => dueJournal(database, after, accountsAtOnce),
    (scope) => tellJournal(context, scope),
    () => nextJournalInMs(database),
  );
  return {
    name: tellJournalJob,
    // A capture wakes the job; this finds what a process that died has left.
    everyMs: 120_000,
    run: (signal) =>
      turns.run(signal, (err) => logger.error({ err }, 'Failed to send captures to the ledger; will retry')),
  };
}
