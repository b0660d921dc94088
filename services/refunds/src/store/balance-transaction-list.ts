import { type Db, type Page, readPage, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { BalanceTransaction } from '../domain/balance-transaction.ts';

/** Which balance transactions a list shows; all that are given hold. */
export interface BalanceTransactionFilter {
  readonly type?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly checkoutSessionId?: string | undefined;
  readonly payoutId?: string | undefined;
}

/** A page of balance transactions, newest first. */
export async function listBalanceTransactions(
  db: Db,
  scope: Scope,
  filter: BalanceTransactionFilter,
  page: Page,
): Promise<{ transactions: BalanceTransaction[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<BalanceRow>(
    db,
    scope,
    {
      ...{ table: 'balance_transactions', id: 'id', columns: [...columns] },
      filter: (query) => {
        if (filter.type !== undefined) query.where('type', filter.type);
        if (filter.sourceId !== undefined) query.where('source_id', filter.sourceId);
        if (filter.checkoutSessionId !== undefined) query.where('checkout_session_id', filter.checkoutSessionId);
        if (filter.payoutId !== undefined) query.where('payout_id', filter.payoutId);
      },
    },
    page,
  );
  return { transactions: rows.map(transactionOfRow), hasMore };
}

/** Balance transactions of these ids; those that are not there are left out. */
export async function findBalanceTransactions(
  db: Db,
  scope: Scope,
  ids: readonly string[],
): Promise<BalanceTransaction[]> {
  if (ids.length === 0) return [];
  return (await db.rows(select, scope, [ids])).map(transactionOfRow);
}

interface BalanceRow {
  id: string;
  type: string;
  amount_cents: bigint;
  fee_cents: bigint;
  settled_cents: bigint;
  available_on: Date;
  source_id: string;
  checkout_session_id: string | null;
  reporting_category: string;
  created_at: Date;
}

const columns = [
  ...(['id', 'type', 'amount_cents', 'fee_cents', 'settled_cents', 'available_on'] as const),
  ...(['source_id', 'checkout_session_id', 'reporting_category', 'created_at'] as const),
] as const satisfies (keyof BalanceRow)[];

const select = scoped<BalanceRow>(
  'balance_transactions.select',
  `select ${columns.join(', ')} from refunds.balance_transactions where account_id = $1 and test_mode = $2 and id = any($3::text[])`,
);

// The processor says when money becomes available, and not again when it has: the time decides.
function transactionOfRow(row: BalanceRow): BalanceTransaction {
  const amountCents = centsFromInt64(row.amount_cents);
  const isSettled = row.settled_cents === row.amount_cents;
  return {
    balanceTransactionId: row.id,
    type: row.type,
    amountCents,
    feeCents: isSettled ? centsFromInt64(row.fee_cents) : null,
    status: isSettled && row.available_on <= new Date() ? 'available' : 'pending',
    availableOn: isSettled ? row.available_on : null,
    sourceId: row.source_id,
    checkoutSessionId: row.checkout_session_id,
    reportingCategory: row.reporting_category,
    createdAt: row.created_at,
  };
}
