import { type Db, type Page, readPage, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Payout } from '../domain/payout.ts';

/** A page of payouts, newest first. */
export async function listPayouts(db: Db, scope: Scope, page: Page): Promise<{ payouts: Payout[]; hasMore: boolean }> {
  const source = { table: 'payouts', id: 'id', columns: [...columns] };
  const { rows, hasMore } = await readPage<PayoutRow>(db, scope, source, page);
  return { payouts: rows.map(payoutOfRow), hasMore };
}

/** A payout, or undefined. */
export async function findPayout(db: Db, scope: Scope, payoutId: string): Promise<Payout | undefined> {
  const row = await db.row(select, scope, [payoutId]);
  return row && payoutOfRow(row);
}

interface PayoutRow {
  id: string;
  amount_cents: bigint;
  currency: string;
  status: string;
  arrival_at: Date | null;
  failure_code: string | null;
  balance_transaction_id: string | null;
  created_at: Date;
}

const columns = [
  ...(['id', 'amount_cents', 'currency', 'status', 'arrival_at'] as const),
  ...(['failure_code', 'balance_transaction_id', 'created_at'] as const),
] as const satisfies (keyof PayoutRow)[];

const select = scoped<PayoutRow>(
  'payouts.select',
  `select ${columns.join(', ')} from refunds.payouts where account_id = $1 and test_mode = $2 and id = $3`,
);

function payoutOfRow(row: PayoutRow): Payout {
  return {
    payoutId: row.id,
    amountCents: centsFromInt64(row.amount_cents),
    currency: row.currency,
    status: row.status,
    arrivalAt: row.arrival_at,
    failureCode: row.failure_code,
    balanceTransactionId: row.balance_transaction_id,
    createdAt: row.created_at,
  };
}
