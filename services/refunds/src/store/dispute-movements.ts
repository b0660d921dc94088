import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** A movement that a dispute made on the balance. */
export interface DisputeMovement {
  readonly processorBalanceTransactionId: string;
  readonly balanceTransactionId: string;
  readonly amountCents: number;
  readonly feeCents: number;
}

/** Stores movements, each once; answers those that were new. */
export async function storeMovements(
  tx: Tx,
  scope: Scope,
  disputeId: string,
  movements: readonly DisputeMovement[],
): Promise<DisputeMovement[]> {
  const stored = await tx.rows(insert, scope, [
    disputeId,
    movements.map((movement) => movement.processorBalanceTransactionId),
    movements.map((movement) => movement.balanceTransactionId),
    movements.map((movement) => movement.amountCents),
    movements.map((movement) => movement.feeCents),
  ]);
  const ids = new Set(stored.map((row) => row.balance_transaction_id));
  return movements.filter((movement) => ids.has(movement.balanceTransactionId));
}

/** The balance transactions of disputes, in the order in which they were stored. */
export async function movementsOf(
  db: Db,
  scope: Scope,
  disputeIds: readonly string[],
): Promise<Map<string, readonly string[]>> {
  if (disputeIds.length === 0) return new Map();
  const rows = await db.rows(select, scope, [disputeIds]);
  const byDispute = Map.groupBy(rows, ({ dispute_id }) => dispute_id);
  return new Map([...byDispute].map(([id, own]) => [id, own.map((row) => row.balance_transaction_id)]));
}

const insert = scoped<{ balance_transaction_id: string }>(
  'dispute_movements.insert',
  `insert into refunds.dispute_movements
     (account_id, test_mode, dispute_id, processor_balance_transaction_id, balance_transaction_id, amount_cents, fee_cents)
   select $1, $2, $3, m.* from unnest($4::text[], $5::text[], $6::bigint[], $7::bigint[]) as m
   on conflict (account_id, test_mode, dispute_id, processor_balance_transaction_id) do nothing
   returning balance_transaction_id`,
);
const select = scoped<{ dispute_id: string; balance_transaction_id: string }>(
  'dispute_movements.of',
  `select dispute_id, balance_transaction_id from refunds.dispute_movements
    where account_id = $1 and test_mode = $2 and dispute_id = any($3::text[]) order by created_at, balance_transaction_id`,
);
