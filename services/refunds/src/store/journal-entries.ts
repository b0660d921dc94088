import type { JournalKind } from '@eligo/ledger';
import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';
import {
  type Cents,
  centsFromInt64,
  type ProcessorAccount,
  type ProcessorAccountRow,
  processorAccountOfRow,
} from '@eligo/values';

/** The job that posts this service's journal entries. */
export const postEntriesJob = 'post-entries';

/** Entries wait so long to be posted, so that those of a busy moment share a transaction. */
export const postEntriesAfterMs = 1_000;

/** An entry of this service that is not posted. */
export interface UnpostedEntry {
  readonly entryId: string;
  readonly kind: JournalKind;
  /** Negative for the second half of an entry of two rows, as an early release wrote them: the first half posts both. */
  readonly amountCents: Cents;
  readonly refundId: string;
  readonly paymentIntentId: string;
  readonly processorAccount: ProcessorAccount | null;
  readonly at: Date;
}

/** The accounts after a place that have entries to post, at most `most`. */
export async function dueEntries(db: Db, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(due, null, [after.accountId, after.testMode, most]), most);
}

/** How long until an entry is to be posted, negative when one is; undefined when none waits. */
export async function nextEntryInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Due entries of an account, locked until the transaction ends; another process that posts at the same time passes them over. */
export async function lockUnposted(tx: Tx, scope: Scope, most: number): Promise<UnpostedEntry[]> {
  const rows = await tx.rows(unposted, scope, [most]);
  return rows.map((row) => ({
    entryId: row.transaction_id,
    kind: row.kind,
    amountCents: centsFromInt64(row.amount_cents),
    refundId: row.refund_id,
    paymentIntentId: row.payment_intent_id,
    processorAccount: processorAccountOfRow(row),
    at: row.created_at,
  }));
}

/** Notes that entries are posted. */
export async function markPosted(tx: Tx, scope: Scope, entryIds: readonly string[]): Promise<void> {
  await tx.execute(posted, scope, [entryIds]);
}

/** Puts entries off. */
export async function putOffPosting(tx: Tx, scope: Scope, entryIds: readonly string[], pauseMs: number): Promise<void> {
  await tx.execute(putOff, scope, [entryIds, pauseMs]);
}

interface UnpostedRow extends ProcessorAccountRow {
  transaction_id: string;
  kind: JournalKind;
  amount_cents: bigint;
  refund_id: string;
  payment_intent_id: string;
  created_at: Date;
}

const due = unscoped<TurnRow>(
  'ledger_entries.turns',
  'select account_id, test_mode, is_due from refunds.ledger_entry_turns($1, $2, $3)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'ledger_entries.next',
  'select extract(epoch from refunds.next_ledger_entry() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const unposted = scoped<UnpostedRow>(
  'ledger_entries.lock_unposted',
  `with page as materialized (
     select e.transaction_id, e.kind, e.amount_cents, e.refund_id, e.payment_intent_id, e.created_at from refunds.ledger_entries e
      where e.account_id = $1 and e.test_mode = $2 and e.post_at <= now()
      order by e.post_at limit $3 for no key update skip locked
   )
   select p.*, i.processor, i.processor_account from page p
     join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = p.refund_id and i.payment_intent_id = p.payment_intent_id
    order by p.transaction_id`,
);
const posted = scoped<never>(
  'ledger_entries.mark_posted',
  `update refunds.ledger_entries set post_at = null where account_id = $1 and test_mode = $2 and transaction_id = any($3::text[])`,
);
const putOff = scoped<never>(
  'ledger_entries.put_off',
  `update refunds.ledger_entries set post_at = ${leaseFromNow('$4::bigint')}
    where account_id = $1 and test_mode = $2 and transaction_id = any($3::text[])`,
);
