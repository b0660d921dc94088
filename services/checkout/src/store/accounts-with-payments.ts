import { type Db, type Scope, unscoped } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';

/** An account and mode that has a payment, and where its newest one is. */
export interface AccountWithPayments {
  readonly scope: Scope;
  readonly newest: ProcessorAccount | null;
}

/** The next `most` accounts and modes behind this one that have a payment. */
export async function accountsWithPayments(db: Db, after: Scope, most: number): Promise<AccountWithPayments[]> {
  const rows = await db.rows(select, null, [after.accountId, after.testMode, most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    newest: processorAccountOfRow(row),
  }));
}

const select = unscoped<{ account_id: string; test_mode: boolean } & ProcessorAccountRow>(
  'checkout.accounts_with_payments',
  'select account_id, test_mode, processor, processor_account from checkout.accounts_with_payments($1, $2, $3)',
);
