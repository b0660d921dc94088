import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** A record of ours that a movement on the processor's balance may settle. */
export interface MovementRecord {
  /** The processor's object that names it: a charge, a refund or a dispute. */
  readonly processorObjectId: string;
  /** Set where the record names the very movement. */
  readonly processorTransactionId: string | null;
  /** Null where it was not made yet. */
  readonly balanceTransactionId: string | null;
  readonly amountCents: Cents | null;
  /** Movements have settled it already. */
  readonly isSettled: boolean;
  readonly sourceId: string;
  readonly paymentIntentId: string | null;
}

/** Captures of these charges of the processor. */
export function capturesOf(tx: Tx, scope: Scope, chargeIds: readonly string[]): Promise<MovementRecord[]> {
  return read(tx, scope, captures, chargeIds);
}

/** What these refunds of the processor took from the balance, and what their failures brought back. */
export function refundsOf(tx: Tx, scope: Scope, refundIds: readonly string[]): Promise<MovementRecord[]> {
  return read(tx, scope, refunds, refundIds);
}

/** Movements of these disputes of the processor. */
export function disputeMovementsOf(tx: Tx, scope: Scope, disputeIds: readonly string[]): Promise<MovementRecord[]> {
  return read(tx, scope, disputes, disputeIds);
}

async function read(
  tx: Tx,
  scope: Scope,
  statement: typeof captures,
  processorObjectIds: readonly string[],
): Promise<MovementRecord[]> {
  if (processorObjectIds.length === 0) return [];
  const rows = await tx.rows(statement, scope, [processorObjectIds]);
  return rows.map((row) => ({
    processorObjectId: row.processor_object_id,
    processorTransactionId: row.processor_transaction_id,
    balanceTransactionId: row.balance_transaction_id,
    amountCents: row.amount_cents === null ? null : centsFromInt64(row.amount_cents),
    isSettled: row.is_settled,
    sourceId: row.source_id,
    paymentIntentId: row.payment_intent_id,
  }));
}

interface RecordRow {
  processor_object_id: string;
  processor_transaction_id: string | null;
  balance_transaction_id: string | null;
  amount_cents: bigint | null;
  is_settled: boolean;
  source_id: string;
  payment_intent_id: string | null;
}

const balance = (id: string) =>
  `left join refunds.balance_transactions b on b.account_id = $1 and b.test_mode = $2 and b.id = ${id}`;

const captures = scoped<RecordRow>(
  'movement_records.captures',
  `select t.processor_charge_id as processor_object_id, null as processor_transaction_id, b.id as balance_transaction_id, t.amount_cents,
          coalesce(b.settled_cents <> 0, false) as is_settled, t.source_id, t.payment_intent_id
     from refunds.ledger_transactions t ${balance('t.balance_transaction_id')}
    where t.account_id = $1 and t.test_mode = $2 and t.processor_charge_id = any($3::text[]) and t.entry_id is not null
    order by t.id`,
);
// Each card's part has a balance transaction, and so has its failure; a part of an earlier release shares that of its refund, which several movements settle.
const refunds = scoped<RecordRow>(
  'movement_records.refunds',
  `select a.processor_refund_id as processor_object_id, null as processor_transaction_id,
          coalesce(i.balance_transaction_id, r.balance_transaction_id) as balance_transaction_id, - a.amount_cents as amount_cents, false as is_settled, a.refund_id as source_id, a.payment_intent_id
     from refunds.refund_attempts a
     join refunds.refunds r on r.account_id = $1 and r.test_mode = $2 and r.id = a.refund_id
     join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = a.refund_id and i.payment_intent_id = a.payment_intent_id
    where a.account_id = $1 and a.test_mode = $2 and a.processor_refund_id = any($3::text[])
   union all
   select a.processor_refund_id, null, b.id, a.amount_cents, coalesce(b.settled_cents <> 0, false), a.refund_id, a.payment_intent_id
     from refunds.refund_attempts a
     left join refunds.balance_transactions b on b.account_id = $1 and b.test_mode = $2 and b.source_id = a.refund_id and b.type = 'refund_failure'
      and b.amount_cents = a.amount_cents and b.settled_cents = 0
    where a.account_id = $1 and a.test_mode = $2 and a.processor_refund_id = any($3::text[])`,
);
const disputes = scoped<RecordRow>(
  'movement_records.disputes',
  `select d.processor_dispute_id as processor_object_id, m.processor_balance_transaction_id as processor_transaction_id, m.balance_transaction_id,
          m.amount_cents, false as is_settled, d.id as source_id, d.payment_intent_id
     from refunds.disputes d
     join refunds.dispute_movements m on m.account_id = $1 and m.test_mode = $2 and m.dispute_id = d.id
    where d.account_id = $1 and d.test_mode = $2 and d.processor in ('sandbox', 'stripe') and d.processor_dispute_id = any($3::text[])`,
);
