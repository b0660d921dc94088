import type { JournalKind, MovementKind, Posting } from '@eligo/ledger';
import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Cents, ProcessorAccount } from '@eligo/values';

/** A balanced transaction of the ledger. */
export interface LedgerTransaction {
  readonly transactionId: string;
  readonly kind: JournalKind | MovementKind;
  readonly processorAccount: ProcessorAccount;
  /** What it posts: a journal entry, or a movement on the processor's balance with its fee and net. */
  readonly cause: { readonly entryId: string } | BalanceMovementCause;
  readonly amountCents: Cents;
  readonly processorChargeId: string | null;
  readonly balanceTransactionId: string | null;
  readonly sourceId: string | null;
  readonly paymentIntentId: string | null;
  readonly occurredAt: Date;
  readonly postings: readonly Posting[];
}

interface BalanceMovementCause {
  readonly processorTransactionId: string;
  readonly feeCents: Cents;
  readonly netCents: Cents;
}

/** Posts transactions, each cause once: what is posted already is left as it is. */
export async function postTransactions(
  tx: Tx,
  scope: Scope,
  transactions: readonly LedgerTransaction[],
): Promise<void> {
  if (transactions.length === 0) return;
  const of = <Value>(value: (transaction: LedgerTransaction) => Value) => transactions.map(value);
  const movement = ({ cause }: LedgerTransaction) => ('entryId' in cause ? undefined : cause);
  const postings = transactions.flatMap((one) =>
    one.postings.map((posting) => ({ ...posting, id: one.transactionId })),
  );
  await tx.execute(insert, scope, [
    of(({ transactionId }) => transactionId),
    of(({ kind }) => kind),
    of(({ processorAccount }) => processorAccount.processor),
    of(({ processorAccount }) => processorAccount.account),
    of(({ cause }) => ('entryId' in cause ? cause.entryId : null)),
    of((one) => movement(one)?.processorTransactionId ?? null),
    of(({ amountCents }) => amountCents),
    of((one) => movement(one)?.feeCents ?? null),
    of((one) => movement(one)?.netCents ?? null),
    of(({ processorChargeId }) => processorChargeId),
    of(({ balanceTransactionId }) => balanceTransactionId),
    of(({ sourceId }) => sourceId),
    of(({ paymentIntentId }) => paymentIntentId),
    of(({ occurredAt }) => occurredAt),
    postings.map(({ id }) => id),
    postings.map(({ account }) => account),
    postings.map(({ amountCents }) => amountCents),
  ]);
}

const insert = scoped<never>(
  'ledger.post',
  `with posted as (
     insert into refunds.ledger_transactions (account_id, test_mode, id, kind, processor, processor_account, entry_id, processor_transaction_id,
       amount_cents, fee_cents, net_cents, processor_charge_id, balance_transaction_id, source_id, payment_intent_id, occurred_at)
     select $1, $2, t.* from unnest($3::text[], $4::text[], $5::refunds.processor[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
       $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::timestamptz[]) as t
     on conflict do nothing
     returning id
   )
   insert into refunds.ledger_postings (account_id, test_mode, transaction_id, ledger_account, amount_cents)
   select $1, $2, p.id, p.account, p.amount from unnest($17::text[], $18::text[], $19::bigint[]) as p (id, account, amount)
     join posted using (id)`,
);
