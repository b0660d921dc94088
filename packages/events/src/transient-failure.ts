import { isConnectionLoss, sqlState } from '@eligo/postgres';

/**
 * Whether a handler failed because of the state of the database and not because of the event: the connection was lost, the server lacks
 * resources or restarts, a lock was not acquired in time, a statement ran into its timeout, or the transaction was the victim of a deadlock.
 */
export function isTransientFailure(error: unknown): boolean {
  const code = sqlState(error);
  return isConnectionLoss(error) || (code !== undefined && transientState.test(code));
}

// 08: connection. 25P03: idle in transaction. 40001, 40P01: serialization and deadlock. 53: insufficient resources. 55P03: lock timeout.
// 57014: statement timeout. 57P0x: shutdown and crash.
const transientState = /^(08...|25P03|40001|40P01|53...|55P03|57014|57P0.)$/;
