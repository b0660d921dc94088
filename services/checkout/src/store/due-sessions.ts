import { type Db, type Scope, unscoped } from '@eligo/postgres';

/** Open sessions of any account whose time has come at `at`, or on their own test clock: ids only, at most `most` of either kind. */
export async function dueSessions(db: Db, at: Date, most: number): Promise<{ scope: Scope; sessionId: string }[]> {
  const rows = await db.rows(selectDue, null, [at, most]);
  return rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, sessionId: row.id }));
}

const selectDue = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'sessions.due',
  'select account_id, test_mode, id from checkout.due_sessions($1, $2)',
);
