import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import {
  CommitRefused,
  CommitUnknown,
  isConnectionLoss,
  isSerializationFailure,
  sqlState,
  translateError,
} from './errors.ts';
import { insideTransaction, runMarked, type TransactionMark } from './inside-transaction.ts';
import type { Scope } from './scope.ts';
import { Tx } from './tx.ts';

/** Bounds of one transaction, where the connection's own are not right. Times are in milliseconds. */
export interface TxOptions {
  readonly lockTimeoutMs?: number;
  readonly statementTimeoutMs?: number;
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable';
  /** How many times more to run the whole function after a serialization failure or a deadlock; 0 by default. */
  readonly retrySerialization?: number;
}

/**
 * Runs the function in one transaction, in the row-level security context of `scope` (null: outside any account). The only way to a
 * transaction. Resolves only if the server said COMMIT: it rejects when a statement failed and the function swallowed it, when a statement
 * was not awaited, when a deferred constraint or the serializability of the whole refused COMMIT, and when the connection died. In that last
 * case the cause of the Failure is a `CommitUnknown` if COMMIT had been sent.
 */
export async function withTx<T>(
  database: Database,
  scope: Scope | null,
  run: (tx: Tx) => Promise<T>,
  options: TxOptions = {},
): Promise<T> {
  if (insideTransaction()) throw new Error('a transaction inside a transaction');
  const attempts = 1 + (options.retrySerialization ?? 0);
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(database, scope, run, options);
    } catch (error) {
      if (attempt >= attempts || !isSerializationFailure(rootOf(error))) throw translateError(error);
      await jitteredPause(attempt);
    }
  }
}

async function runOnce<T>(
  database: Database,
  scope: Scope | null,
  run: (tx: Tx) => Promise<T>,
  options: TxOptions,
): Promise<T> {
  const client = await database.checkOut(scope);
  const mark: TransactionMark = { open: true };
  let fate: 'committed' | 'rolled back' | 'unknown' = 'unknown';
  let tx: Tx | undefined;
  try {
    // Not waited for: what the function sends first for its account goes with it.
    const beginsWith = client.query(beginning(client, scope, options));
    tx = new Tx(database, client, scope, beginsWith, options.statementTimeoutMs);
    const [begun, ran] = await Promise.allSettled([beginsWith, runUntilEnd(tx, mark, run)]);
    if (tx.isCommitSent) await settleCommit(tx, begun, ran);
    const result = valueIfBegun(begun, ran);
    refuseHalfDone(tx);
    await tx.commit();
    fate = 'committed';
    await runHooks(database, tx.hooks, 'after-commit hook failed');
    return result;
  } catch (error) {
    if (fate !== 'committed' && (await rollBack(client, error))) fate = 'rolled back';
    if (error instanceof CommitUnknown)
      await runHooks(database, tx?.unknownHooks ?? [], 'hook after an unknown commit failed');
    throw error;
  } finally {
    database.giveBack(client, scope, fate !== 'unknown');
  }
}

async function runUntilEnd<T>(tx: Tx, mark: TransactionMark, run: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await runMarked(mark, () => run(tx));
  } finally {
    mark.open = false;
    await tx.end();
  }
}

// COMMIT is on its way: what it did is known by its answer, also when a statement before it has lost the connection.
async function settleCommit(
  tx: Tx,
  begun: PromiseSettledResult<unknown>,
  ran: PromiseSettledResult<unknown>,
): Promise<void> {
  const [committed] = await Promise.allSettled([tx.commit()]);
  const failures = [begun, ran, committed].flatMap((part) => (part.status === 'rejected' ? [part.reason] : []));
  const lost = failures.find((reason) => isConnectionLoss(reason));
  if (lost !== undefined) throw lost instanceof CommitUnknown ? lost : new CommitUnknown(lost);
}

// What failed after a BEGIN that failed, failed because of it.
function valueIfBegun<T>(begun: PromiseSettledResult<unknown>, ran: PromiseSettledResult<T>): T {
  if (begun.status === 'rejected') throw begun.reason;
  if (ran.status === 'rejected') throw ran.reason;
  return ran.value;
}

// BEGIN and the context in one round trip. SET LOCAL, since a select of set_config would be planned each time.
// plan_cache_mode, since the server otherwise plans a prepared statement anew for each value where it takes that for cheaper (ADR 3). What
// would gain by that, as a report over a whole table does, runs outside transactions.
function beginning(client: PoolClient, scope: Scope | null, options: TxOptions): string {
  const settings: [string, string][] = [['plan_cache_mode', 'force_generic_plan']];
  if (scope !== null) settings.push(['eligo.account_id', scope.accountId], ['eligo.test_mode', String(scope.testMode)]);
  if (options.lockTimeoutMs !== undefined) settings.push(['lock_timeout', String(options.lockTimeoutMs)]);
  if (options.statementTimeoutMs !== undefined)
    settings.push(['statement_timeout', String(options.statementTimeoutMs)]);
  const begin = options.isolation === undefined ? 'begin' : `begin isolation level ${options.isolation}`;
  return [begin, ...settings.map(([name, value]) => `set local ${name} = ${client.escapeLiteral(value)}`)].join('; ');
}

function refuseHalfDone(tx: Tx): void {
  if (tx.unfinished > 0) throw new CommitRefused(`${tx.unfinished} statements were not awaited`);
  if (tx.failure !== undefined) throw new CommitRefused('A statement failed and its error was swallowed', tx.failure);
}

async function rollBack(client: PoolClient, because: unknown): Promise<boolean> {
  if (isConnectionLoss(because)) return false;
  try {
    await client.query('rollback');
    return true;
  } catch {
    // The caller gets the reason for the rollback; the connection is discarded, and the server rolls back by itself.
    return false;
  }
}

async function runHooks(database: Database, hooks: Tx['hooks'], failed: string): Promise<void> {
  for (const hook of hooks) {
    try {
      await hook();
    } catch (error) {
      // What was committed stays committed: the caller must not take a failed hook for a failed write.
      database.report(error, failed);
    }
  }
}

function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined && sqlState(error.cause) !== undefined
    ? error.cause
    : error;
}

function jitteredPause(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** attempt));
}
