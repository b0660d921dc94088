import { type Scope, scoped, type Tx } from '@eligo/postgres';

/**
 * Holds the receipts of these sessions until the transaction ends, so that a receipt is issued either before its shopper is erased, and erased then, or
 * after.
 */
export async function lockReceipts(tx: Tx, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  await tx.execute(lock, scope, [sessionIds]);
}

/** Whether the shopper of a session was erased. The caller holds its receipts. */
export async function isErased(tx: Tx, scope: Scope, sessionId: string): Promise<boolean> {
  return (await tx.row(find, scope, [sessionId])) !== undefined;
}

// In one order, so that two erasures cannot wait for each other.
const lock = scoped<never>(
  'erased_sessions.lock',
  `select pg_advisory_xact_lock(hashtextextended('billing.receipts:' || $1::text || ':' || $2::boolean || ':' || s.id, 0))
   from (select id from unnest($3::text[]) id order by id offset 0) s`,
);

const find = scoped<{ session_id: string }>(
  'erased_sessions.find',
  'select session_id from erased_sessions where account_id = $1 and test_mode = $2 and session_id = $3',
);
