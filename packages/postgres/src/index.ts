export { scopedTable, sqlBuilder } from './builder.ts';
export { Database, type DatabaseOptions, openDatabase } from './database.ts';
export type { Db } from './db.ts';
export {
  CommitRefused,
  CommitUnknown,
  isCheckViolation,
  isConnectionLoss,
  isSerializationFailure,
  isUniqueViolation,
  sqlState,
} from './errors.ts';
export { insideTransaction, refuseInsideTransaction } from './inside-transaction.ts';
export { isSameScope, type Scope, scopePolicy } from './scope.ts';
export { openSession, type Session } from './session.ts';
export { type ScopedStatement, type Statement, scoped, type UnscopedStatement, unscoped } from './statement.ts';
export { afterCommit, type Tx } from './tx.ts';
export { type TxOptions, withTx } from './with-tx.ts';
