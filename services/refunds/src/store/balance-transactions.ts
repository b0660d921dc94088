import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Cents, ProcessorAccount } from '@eligo/values';

/** A balance transaction that waits for the processor, or one that the processor alone knows. */
export interface NewBalanceRow {
  readonly balanceTransactionId: string;
  readonly type: string;
  readonly reportingCategory: string;
  readonly amountCents: Cents;
  readonly sourceId: string;
  readonly checkoutSessionId: string | null;
  readonly at: Date;
}

/** A movement of the processor that settles a balance transaction, or its part of one that all cards of a refund of an earlier release share. */
export interface Settlement {
  readonly balanceTransactionId: string;
  readonly processorAccount: ProcessorAccount;
  readonly processorTransactionId: string;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  readonly availableOn: Date;
}

/** Stores balance transactions as pending, without a fee, which only the processor knows; one that is there stays as it is. */
export async function insertPending(tx: Tx, scope: Scope, rows: readonly NewBalanceRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(insert, scope, [
    rows.map(({ balanceTransactionId }) => balanceTransactionId),
    rows.map(({ type }) => type),
    rows.map(({ amountCents }) => amountCents),
    rows.map(({ sourceId }) => sourceId),
    rows.map(({ checkoutSessionId }) => checkoutSessionId),
    rows.map(({ reportingCategory }) => reportingCategory),
    rows.map(({ at }) => at),
  ]);
}

/** Adds what the processor moved to balance transactions: amount, fee, and the time from which the money can be paid out. */
export async function settleBalance(tx: Tx, scope: Scope, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  await tx.execute(settle, scope, [
    settlements.map(({ balanceTransactionId }) => balanceTransactionId),
    settlements.map(({ processorAccount }) => processorAccount.processor),
    settlements.map(({ processorAccount }) => processorAccount.account),
    settlements.map(({ processorTransactionId }) => processorTransactionId),
    settlements.map(({ amountCents }) => amountCents),
    settlements.map(({ feeCents }) => feeCents),
    settlements.map(({ availableOn }) => availableOn),
  ]);
}

const insert = scoped<never>(
  'balance_transactions.insert_pending',
  `insert into refunds.balance_transactions
     (account_id, test_mode, id, type, amount_cents, source_id, checkout_session_id, reporting_category, created_at, available_on, status)
   select $1, $2, b.*, b.at, 'pending'
     from unnest($3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::timestamptz[])
       as b (id, type, amount, source, session, category, at)
   on conflict (account_id, test_mode, id) do nothing`,
);
// A dispute's fee was fetched with the dispute: the processor's movement replaces it. The first movement of several names the row. The rows are locked in the order
// of their ids, as by a refund that makes several available.
const settle = scoped<never>(
  'balance_transactions.settle',
  `with named as (
     select id from refunds.balance_transactions
      where account_id = $1 and test_mode = $2 and id = any($3::text[]) order by id for no key update)
   update refunds.balance_transactions b
      set settled_cents = b.settled_cents + s.amount, fee_cents = s.fee + case when b.settled_cents = 0 then 0 else b.fee_cents end,
          processor = coalesce(b.processor, s.processor), processor_account = coalesce(b.processor_account, s.account),
          processor_transaction_id = coalesce(b.processor_transaction_id, s.transaction), status = 'available',
          available_on = case when b.settled_cents = 0 then s.available_on else greatest(b.available_on, s.available_on) end
     from (select id, (array_agg(processor))[1] as processor, (array_agg(account))[1] as account, min(transaction) as transaction,
                  sum(amount)::bigint as amount, sum(fee)::bigint as fee, max(available_on) as available_on
             from unnest($3::text[], $4::refunds.processor[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::timestamptz[])
               as n (id, processor, account, transaction, amount, fee, available_on) group by id) s
     join named on named.id = s.id
    where b.account_id = $1 and b.test_mode = $2 and b.id = named.id`,
);
