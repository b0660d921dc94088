import { type Database, type Scope, withTx } from '@eligo/postgres';
import { eraseReceiptsOf } from '../store/erased-receipts.ts';

/**
 * Erases who bought on the receipts of these sessions; answers how many. The receipts stay as evidence of what was bought, and their documents are rendered
 * without the name when they are next read. `database` is open as a role that row-level security does not bind. Safe to repeat.
 */
export function eraseReceipts(database: Database, scope: Scope, sessionIds: readonly string[]): Promise<number> {
  return withTx(database, scope, (tx) => eraseReceiptsOf(tx, scope, sessionIds));
}
