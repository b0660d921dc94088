import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';
import {
  type Cents,
  centsFromInt64,
  type ProcessorAccount,
  type ProcessorAccountRow,
  processorAccountOfRow,
} from '@eligo/values';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';

/** The job that tells the ledger what was captured. */
export const tellJournalJob = 'tell-journal';

/** Captures wait so long to be told, so that those of a busy moment share an event. */
export const tellJournalAfterMs = 1_000;

/** A capture that the ledger was not told of. */
export interface UntoldEntry {
  readonly entryId: string;
  readonly amountCents: Cents;
  readonly paymentIntentId: string;
  /** The charge of an automatic capture, or the capture. */
  readonly sourceId: string;
  readonly chargeId: string;
  readonly checkoutSessionId: string | null;
  readonly processorAccount: ProcessorAccount | null;
  readonly processorChargeId: string | null;
  /** The one that the charge shows; null for captures of a release that did not store it. */
  readonly balanceTransactionId: string | null;
  readonly at: Date;
}

/** The accounts after a place that have captures to tell, at most `most`. */
export async function dueJournal(db: Db, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(due, null, [after.accountId, after.testMode, most]), most);
}

/** How long until a capture is to be told, negative when one is; undefined when none waits. */
export async function nextJournalInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** For how many seconds the capture that waits longest has waited. For a metric. */
export async function journalLagSeconds(db: Db): Promise<number> {
  return (await db.row(lag, null))?.seconds ?? 0;
}

/** Due captures of an account, locked until the transaction ends; another process that tells at the same time passes them over. */
export async function lockUntold(tx: Tx, scope: Scope, most: number): Promise<UntoldEntry[]> {
  const rows = await tx.rows(untold, scope, [most]);
  return rows.map((row) => ({
    entryId: row.id,
    amountCents: centsFromInt64(row.amount_cents),
    paymentIntentId: row.payment_intent_id,
    sourceId: row.source_id,
    chargeId: row.charge_id,
    checkoutSessionId: row.session_id,
    processorAccount: processorAccountOfRow(row),
    processorChargeId: row.processor_charge_id,
    balanceTransactionId: row.balance_transaction_id,
    at: row.created_at,
  }));
}

/** Stores the balance transaction that a charge's own id gives, in charges of an earlier release. Answers those that had none. */
export async function nameOldCharges(tx: Tx, scope: Scope, chargeIds: ReadonlySet<string>): Promise<Set<string>> {
  if (chargeIds.size === 0) return new Set();
  const ids = [...chargeIds];
  const rows = await tx.rows(nameCharges, scope, [ids, ids.map(balanceTransactionOf)]);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Gives each of these captures, which an earlier release named by the capture alone, a balance transaction of its own where the same capture took from another
 * card, too: its charge stores the one of the entry. The card whose intent has the first identifier keeps the name. Answers the entries that were renamed.
 */
export async function nameSharedCaptures(
  tx: Tx,
  scope: Scope,
  entries: readonly Pick<UntoldEntry, 'entryId' | 'chargeId' | 'sourceId' | 'paymentIntentId'>[],
): Promise<Set<string>> {
  if (entries.length === 0) return new Set();
  const rows = await tx.rows(nameShared, scope, [
    entries.map(({ entryId }) => entryId),
    entries.map(({ entryId }) => balanceTransactionOf(entryId)),
    entries.map(({ chargeId }) => chargeId),
    entries.map(({ sourceId }) => sourceId),
    entries.map(({ paymentIntentId }) => paymentIntentId),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Notes that entries are told. */
export async function markTold(tx: Tx, scope: Scope, entryIds: readonly string[]): Promise<void> {
  await tx.execute(told, scope, [entryIds]);
}

/** Puts entries off. */
export async function putOffTelling(tx: Tx, scope: Scope, entryIds: readonly string[], pauseMs: number): Promise<void> {
  await tx.execute(putOff, scope, [entryIds, pauseMs]);
}

interface UntoldRow extends ProcessorAccountRow {
  id: string;
  amount_cents: bigint;
  payment_intent_id: string;
  source_id: string;
  charge_id: string;
  session_id: string | null;
  processor_charge_id: string | null;
  balance_transaction_id: string | null;
  created_at: Date;
}

const due = unscoped<TurnRow>(
  'journal.turns',
  'select account_id, test_mode, is_due from checkout.journal_turns($1, $2, $3)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'journal.next',
  'select extract(epoch from checkout.next_journal() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const lag = unscoped<{ seconds: number | null }>('journal.lag', 'select checkout.journal_lag_seconds() as seconds');
const untold = scoped<UntoldRow>(
  'journal.lock_untold',
  `with page as materialized (
     select e.id, e.amount_cents, e.payment_intent_id, e.source_id, e.created_at from checkout.ledger_entries e
      where e.account_id = $1 and e.test_mode = $2 and e.kind = 'capture' and e.tell_at <= now()
      order by e.tell_at limit $3 for no key update skip locked
   )
   select p.id, p.amount_cents, p.payment_intent_id, p.source_id, c.id as charge_id, i.session_id, i.processor, i.processor_account,
          c.processor_charge_id, c.balance_transaction_id, p.created_at
     from page p
     join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = p.payment_intent_id
     join checkout.charges c on c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id
    order by p.id`,
);
const nameCharges = scoped<{ id: string }>(
  'journal.name_old_charges',
  `update checkout.charges c set balance_transaction_id = n.balance_transaction_id
     from unnest($3::text[], $4::text[]) as n (id, balance_transaction_id)
    where c.account_id = $1 and c.test_mode = $2 and c.id = n.id and c.balance_transaction_id is null
    returning c.id`,
);
const nameShared = scoped<{ id: string }>(
  'journal.name_shared_captures',
  `update checkout.charges c set balance_transaction_id = n.balance_transaction_id
     from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as n (id, balance_transaction_id, charge_id, source_id, payment_intent_id)
    where c.account_id = $1 and c.test_mode = $2 and c.id = n.charge_id
      and exists (select from checkout.ledger_entries e where e.account_id = $1 and e.test_mode = $2 and e.source_id = n.source_id
        and e.kind = 'capture' and e.payment_intent_id < n.payment_intent_id)
   returning n.id`,
);
const told = scoped<never>(
  'journal.mark_told',
  `update checkout.ledger_entries set tell_at = null where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
const putOff = scoped<never>(
  'journal.put_off',
  `update checkout.ledger_entries set tell_at = ${leaseFromNow('$4::bigint')}
    where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);
