export { scopedTable, sqlBuilder } from './builder.ts';
export { connectionTo, tlsProblem } from './connection-tls.ts';
export { connectionConfig, Database, type DatabaseOptions, openDatabase } from './database.ts';
export type { Db } from './db.ts';
export { dumpSchema } from './dump-schema.ts';
export {
  CommitRefused,
  CommitUnknown,
  isCheckViolation,
  isConnectionLoss,
  isRefusal,
  isSerializationFailure,
  isUniqueViolation,
  sqlState,
} from './errors.ts';
export { type GroupedReads, openGroupedReads } from './grouped-reads.ts';
export { type GroupedWrites, type GroupedWritesOptions, openGroupedWrites } from './grouped-writes.ts';
export { type Expecting, type Groups, maxGatherMs, maxGroupSize, openGroups } from './groups.ts';
export {
  afterKeyLock,
  type Claim,
  claimFreshKeys,
  claimKey,
  claimOrThrow,
  findKey,
  finishKey,
  finishKeyOfAttempt,
  freshKeyInsert,
  freshKeyValues,
  idempotencyMigrations,
  type KeyUse,
  keyInUse,
  keyOfAttemptFinish,
  keyOfAttemptLock,
  keysOfAttemptsLock,
  linkAttempt,
  pruneKeys,
  releaseKey,
  releaseKeyOfAttempt,
  requestHash,
  type StoredAnswer,
  type UsableClaim,
  unlinkAttempt,
  usableOrThrow,
} from './idempotency.ts';
export { allInPages, inPages } from './in-pages.ts';
export { insideTransaction, refuseInsideTransaction } from './inside-transaction.ts';
export { AnotherInstallation, type InstallationClaim, installationOf } from './installation.ts';
export { joinedBytes } from './joined-bytes.ts';
export { leaseFromNow, leaseIsLive, leaseIsOver } from './lease.ts';
export { lintMigration, lintMigrations, type MigrationFinding, type MigrationRule } from './lint-migration.ts';
export { type MigrateOptions, type MigrateResult, migrate } from './migrate.ts';
export {
  type Migration,
  type MigrationSource,
  migrationSource,
  parseMigration,
  readMigrations,
} from './migration-source.ts';
export { asCall, asOwnWork, isOwnWork } from './own-work.ts';
export { type AskedPage, type Page, type PageSource, pageOf } from './page-query.ts';
export { admitRoles, type Provisioned, type ProvisionOptions, provisionRoles } from './provision-roles.ts';
export { readPage } from './read-page.ts';
export { type RoleNames, roleNames, serviceRole } from './role-names.ts';
export { roleUrl } from './role-url.ts';
export { isSameScope, readinessAccountId, type Scope, scopePolicy } from './scope.ts';
export { openSession, type Session } from './session.ts';
export { splitStatements } from './sql-text.ts';
export {
  declaredStatements,
  type ScopedStatement,
  type Statement,
  scoped,
  type UnscopedStatement,
  unscoped,
} from './statement.ts';
export { streamPage } from './stream-page.ts';
export { fileAsProperty, isTlsCode } from './tls-files.ts';
export { afterCommit, afterUnknownCommit, commitBehind, type Tx } from './tx.ts';
export { type TxOptions, withTx } from './with-tx.ts';
