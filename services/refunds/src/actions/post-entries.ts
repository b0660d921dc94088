import { type Scope, withTx } from '@eligo/postgres';
import type { Processors } from '@eligo/processor';
import type { Context } from '../context.ts';
import { lockUnposted, markPosted, putOffPosting, type UnpostedEntry } from '../store/journal-entries.ts';
import { type JournalEntry, postJournal } from './post-journal.ts';

// A transaction of some ten milliseconds.
const page = 200;
// An operator has to configure the processor of the account.
const pauseWhileNotConfiguredMs = 3_600_000;

/**
 * Posts a page of this service's own entries of an account: posting and the note of it are one transaction, so that a crash loses nothing and posts
 * nothing twice. Returns true if there may be more.
 */
export function postEntries(
  { database, processors }: Pick<Context, 'database'> & { readonly processors: Pick<Processors, 'findOf'> },
  scope: Scope,
): Promise<boolean> {
  return withTx(database, scope, async (tx) => {
    const entries = await lockUnposted(tx, scope, page);
    // Null for money of an earlier release: where new money goes, until the job `fill-processor-accounts` has stored it.
    const otherwise = processors.findOf(scope)?.account;
    const [known, unknown] = split(entries, otherwise !== undefined);
    // Of an entry of two rows, the positive one posts both.
    const journal = known
      .filter(({ amountCents }) => amountCents > 0)
      .flatMap((entry): JournalEntry[] => {
        const processorAccount = entry.processorAccount ?? otherwise;
        if (processorAccount === undefined) return [];
        const { entryId, kind, amountCents, refundId: sourceId, paymentIntentId, at } = entry;
        const fields = { entryId, kind, amountCents, sourceId, paymentIntentId, at };
        return [{ ...fields, processorAccount, processorChargeId: null, balance: null }];
      });
    await postJournal(tx, scope, journal);
    await markPosted(tx, scope, idsOf(known));
    if (unknown.length > 0) await putOffPosting(tx, scope, idsOf(unknown), pauseWhileNotConfiguredMs);
    return entries.length === page;
  });
}

function split(entries: readonly UnpostedEntry[], isConfigured: boolean): [UnpostedEntry[], UnpostedEntry[]] {
  const isKnown = ({ processorAccount }: UnpostedEntry) => isConfigured || processorAccount !== null;
  return [entries.filter(isKnown), entries.filter((entry) => !isKnown(entry))];
}

function idsOf(entries: readonly UnpostedEntry[]): string[] {
  return entries.map(({ entryId }) => entryId);
}
