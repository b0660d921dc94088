import { type Database, type Scope, withTx } from '@eligo/postgres';
import { eraseMetadataOfSold } from '../store/sold-subscriptions.ts';

/**
 * Erases the metadata of the subscriptions that these sessions started, once `eraseReceipts` has marked the sessions: one that starts later copies none.
 * `database` is open as a role that row-level security does not bind. Safe to repeat.
 */
export function eraseSoldMetadata(database: Database, scope: Scope, sessionIds: readonly string[]): Promise<void> {
  return withTx(database, scope, (tx) => eraseMetadataOfSold(tx, scope, sessionIds));
}
