import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** Something about a refund that is to be driven on. */
export type DueWork =
  | { readonly kind: 'requested'; readonly scope: Scope; readonly refundId: string }
  | { readonly kind: 'attempt'; readonly scope: Scope; readonly attemptId: string; readonly epoch?: number }
  | { readonly kind: 'releasing'; readonly scope: Scope; readonly refundId: string; readonly paymentIntentId: string };

/** What is due over all accounts, at most `most` of each kind. */
export async function dueWork(db: Db, most: number): Promise<DueWork[]> {
  const rows = await db.rows(find, null, [most]);
  return rows.map((row) => {
    const scope = { accountId: row.account_id, testMode: row.test_mode };
    if (row.kind === 'attempt') return { kind: 'attempt', scope, attemptId: row.id };
    if (row.kind === 'requested') return { kind: 'requested', scope, refundId: row.id };
    return { kind: 'releasing', scope, refundId: row.id, paymentIntentId: row.part };
  });
}

const find = unscoped<{
  kind: 'requested' | 'attempt' | 'releasing';
  account_id: string;
  test_mode: boolean;
  id: string;
  part: string;
}>('refunds.due_work', 'select kind, account_id, test_mode, id, part from refunds.due_refund_work($1)');
