import { create } from '@bufbuild/protobuf';
import { append, type NewEvent } from '@eligo/events';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { JournalEntriesSchema, type JournalEntry } from '@eligo/proto/events/v1/events';
import type { ProcessorAccount } from '@eligo/values';
import type { Context, InvoiceSettlement } from '../context.ts';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import { journalMessage } from '../messages/journal.ts';
import {
  lockUntold,
  markTold,
  nameOldCharges,
  nameSharedCaptures,
  putOffTelling,
  type UntoldEntry,
} from '../store/journal.ts';

// One event of some 20 kB, and a transaction of a few milliseconds.
const page = 100;
// An operator has to configure the processor of the account.
const pauseWhileNotConfiguredMs = 3_600_000;

/**
 * Tells the ledger of a page of an account's captures: the event and the note that it was told are one transaction, so that each entry is told, and the
 * ledger posts each once even if it is told twice. Returns true if there may be more.
 */
export function tellJournal(
  { database, processors }: Pick<Context, 'database' | 'processors'>,
  scope: Scope,
): Promise<boolean> {
  return withTx(database, scope, async (tx) => {
    const entries = await lockUntold(tx, scope, page);
    // Null for money of an earlier release: where new money goes, until the job `fill-processor-accounts` has stored it.
    const otherwise = processors.findOf(scope)?.account;
    const placed = entries.map((entry) => ({ ...entry, processorAccount: entry.processorAccount ?? otherwise }));
    const told = placed.filter((entry): entry is PlacedEntry => entry.processorAccount !== undefined);
    await tell(tx, scope, told);
    const left = placed.filter(({ processorAccount }) => processorAccount === undefined);
    if (left.length > 0) await putOffTelling(tx, scope, left.map(idOf), pauseWhileNotConfiguredMs);
    return entries.length === page;
  });
}

/** An entry whose processor account is known. */
interface PlacedEntry extends UntoldEntry {
  readonly processorAccount: ProcessorAccount;
}

const idOf = ({ entryId }: { readonly entryId: string }) => entryId;

async function tell(tx: Tx, scope: Scope, placed: readonly PlacedEntry[]): Promise<void> {
  const [first] = placed;
  if (first === undefined) return;
  const sources = await balanceSources(tx, scope, placed);
  const entries = placed.map((entry, index) => {
    const balanceTransactionId = balanceTransactionOf(sources[index] ?? entry.entryId);
    return journalMessage({ ...entry, balanceTransactionId }, entry.processorAccount);
  });
  await append(tx, journalEvent(scope, first.entryId, entries));
  await markTold(tx, scope, placed.map(idOf));
}

/**
 * The event that tells the ledger of charges in the transaction that settles them, so that their entries wait for no job: it would update each once more. Undefined for fewer than
 * `leastTogether` and for money of an earlier release: the job tells those.
 */
export function journalOfSettlements(scope: Scope, settlements: readonly InvoiceSettlement[]): NewEvent | undefined {
  const entries = settlements.flatMap(({ attempt: { processorAccount }, intent, charge, ledgerEntryId: entryId }) =>
    processorAccount === null
      ? []
      : journalMessage(
          {
            ...{ entryId, amountCents: intent.amountReceivedCents, paymentIntentId: intent.id },
            ...{ sourceId: charge.chargeId, chargeId: charge.chargeId, checkoutSessionId: null },
            ...{ processorChargeId: charge.processorChargeId, at: charge.at },
            balanceTransactionId: balanceTransactionOf(charge.chargeId),
          },
          processorAccount,
        ),
  );
  const [first] = entries;
  const isWhole = entries.length === settlements.length && entries.length >= leastTogether;
  return first === undefined || !isWhole ? undefined : journalEvent(scope, first.entryId, entries);
}

// The ledger posts the entries of an event together. Fewer wait for others.
const leastTogether = 8;

function journalEvent(scope: Scope, aggregateId: string, entries: JournalEntry[]): NewEvent {
  const object = { case: 'journalEntries', value: create(JournalEntriesSchema, { entries }) } as const;
  return { ...scope, type: 'command.journal', aggregateId, object };
}

// What the balance transaction of each entry is named by. A charge that an earlier release captured in parts shows the one that its own id gives: the first part
// that is told has it. The charge stores it, so that no part on another page takes it again. A later release named them by the capture.
async function balanceSources(tx: Tx, scope: Scope, entries: readonly UntoldEntry[]): Promise<string[]> {
  const old = entries.filter((entry) => entry.balanceTransactionId === null && entry.sourceId !== entry.chargeId);
  const unnamed = await nameOldCharges(tx, scope, new Set(old.map(({ chargeId }) => chargeId)));
  const byCapture = entries.filter(isNamedByCapture);
  const renamed = await nameSharedCaptures(tx, scope, byCapture);
  return entries.map((entry) => {
    const { chargeId, sourceId, entryId } = entry;
    if (sourceId === chargeId || unnamed.delete(chargeId)) return chargeId;
    return isNamedByCapture(entry) && !renamed.has(entryId) ? sourceId : entryId;
  });
}

function isNamedByCapture({ sourceId, chargeId, balanceTransactionId }: UntoldEntry): boolean {
  return sourceId !== chargeId && balanceTransactionId === balanceTransactionOf(sourceId);
}
