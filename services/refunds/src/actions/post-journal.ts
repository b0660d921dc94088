import { type JournalKind, postingsOfJournalEntry } from '@eligo/ledger';
import type { Scope, Tx } from '@eligo/postgres';
import { type Cents, newId, type ProcessorAccount, timeOfId } from '@eligo/values';
import { insertPending, type NewBalanceRow } from '../store/balance-transactions.ts';
import { type LedgerTransaction, postTransactions } from '../store/ledger.ts';
import { wakeFeeds } from '../store/ledger-feeds.ts';

/** An entry of a service's journal. */
export interface JournalEntry {
  readonly entryId: string;
  readonly kind: JournalKind;
  readonly amountCents: Cents;
  readonly processorAccount: ProcessorAccount;
  readonly sourceId: string;
  readonly paymentIntentId: string;
  readonly processorChargeId: string | null;
  /** Of a capture: what shows it on the balance. */
  readonly balance: { readonly balanceTransactionId: string; readonly checkoutSessionId: string | null } | null;
  readonly at: Date;
}

// The clocks of Eligo and of the processor differ, and a movement may be older than the entry that records it.
const marginMs = 3_600_000;

/** Posts journal entries, each once, and has the balance of their accounts at the processor read soon. */
export async function postJournal(tx: Tx, scope: Scope, entries: readonly JournalEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await insertPending(tx, scope, entries.flatMap(balanceRowOf));
  await postTransactions(tx, scope, entries.map(transactionOf));
  await wakeFeeds(tx, scope, feedsOf(entries));
}

function transactionOf(entry: JournalEntry): LedgerTransaction {
  const { entryId, kind, amountCents, processorAccount, sourceId, paymentIntentId, processorChargeId, balance } = entry;
  return {
    ...{ kind, amountCents, processorAccount, sourceId, paymentIntentId, processorChargeId },
    transactionId: newId('ledger_transaction'),
    cause: { entryId },
    balanceTransactionId: balance?.balanceTransactionId ?? null,
    occurredAt: entry.at,
    postings: postingsOfJournalEntry(kind, amountCents),
  };
}

function balanceRowOf({ balance, amountCents, sourceId, at }: JournalEntry): NewBalanceRow[] {
  if (balance === null) return [];
  return [{ ...balance, type: 'charge', reportingCategory: 'charge', amountCents, sourceId, at }];
}

// An entry's own time may be a test clock's. Its identifier was made by ours.
function feedsOf(entries: readonly JournalEntry[]) {
  const feeds = new Map<string, { processorAccount: ProcessorAccount; since: Date }>();
  for (const { entryId, processorAccount } of entries) {
    const madeAt = timeOfId('ledger_transaction', entryId) ?? new Date();
    const since = new Date(madeAt.getTime() - marginMs);
    const key = `${processorAccount.processor} ${processorAccount.account}`;
    const known = feeds.get(key);
    if (known === undefined || since < known.since) feeds.set(key, { processorAccount, since });
  }
  return [...feeds.values()];
}
