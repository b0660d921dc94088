import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { type Cents, newId } from '@eligo/values';
import { type LedgerKind, ledgerSides } from '../domain/ledger.ts';
import { postEntriesAfterMs, postEntriesJob } from './journal-entries.ts';

/** What caused a movement: a card's part of a refund. */
export interface LedgerCause {
  readonly kind: LedgerKind;
  readonly refundId: string;
  readonly paymentIntentId: string;
  readonly amountCents: Cents;
}

/** Books movements, each one row with both its sides; one that is booked already is an error. */
export async function book(tx: Tx, scope: Scope, causes: readonly LedgerCause[], at: Date): Promise<void> {
  wakeJobAfterCommit(tx, postEntriesJob, postEntriesAfterMs);
  await tx.execute(insertEntries, scope, [
    causes.map(() => newId('ledger_transaction')),
    causes.map(({ kind }) => ledgerSides[kind].debit),
    causes.map(({ amountCents }) => amountCents),
    causes.map(({ kind }) => kind),
    causes.map(({ refundId }) => refundId),
    causes.map(({ paymentIntentId }) => paymentIntentId),
    at,
    causes.map(({ kind }) => ledgerSides[kind].credit),
  ]);
}

/** What a refund or a dispute does to the balance. */
export interface NewBalanceTransaction {
  readonly balanceTransactionId: string;
  readonly type: 'refund' | 'refund_failure' | 'dispute' | 'dispute_reversal';
  readonly amountCents: number;
  /** What the processor takes for it; negative when it gives a fee back. */
  readonly feeCents?: number;
  readonly status: 'pending' | 'available';
  readonly sourceId: string;
  readonly checkoutSessionId: string | null;
  readonly at: Date;
}

/** Stores a balance transaction. */
export async function insertBalanceTransaction(
  tx: Tx,
  scope: Scope,
  transaction: NewBalanceTransaction,
): Promise<void> {
  const {
    balanceTransactionId,
    type,
    amountCents,
    feeCents = 0,
    status,
    sourceId,
    checkoutSessionId,
    at,
  } = transaction;
  await tx.execute(insertTransaction, scope, [
    balanceTransactionId,
    type,
    amountCents,
    status,
    sourceId,
    checkoutSessionId,
    at,
    feeCents,
  ]);
}

/** The movements of pending balance transactions have taken place. */
export async function makeAvailable(
  tx: Tx,
  scope: Scope,
  balanceTransactionIds: readonly string[],
  at: Date,
): Promise<void> {
  await tx.execute(available, scope, [balanceTransactionIds, at]);
}

const insertEntries = scoped(
  'ledger.book',
  `insert into refunds.ledger_entries
     (account_id, test_mode, transaction_id, ledger_account, amount_cents, kind, refund_id, payment_intent_id, credit_account, created_at)
   select $1, $2, e.*, $9
     from unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $10::text[]) as e`,
);
const insertTransaction = scoped(
  'balance_transactions.insert',
  `insert into refunds.balance_transactions
     (account_id, test_mode, id, type, amount_cents, status, source_id, checkout_session_id, reporting_category, available_on, created_at,
      fee_cents)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $4, $9, $9, $10)`,
);
const available = scoped(
  'balance_transactions.make_available',
  `with named as (
     select id from refunds.balance_transactions
      where account_id = $1 and test_mode = $2 and id = any($3::text[]) and status = 'pending' order by id for no key update)
   update refunds.balance_transactions b set status = 'available', available_on = $4
     from named where b.account_id = $1 and b.test_mode = $2 and b.id = named.id`,
);
