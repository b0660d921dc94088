import { Failure } from '@eligo/failures';
import pg from 'pg';
import { tlsFailure } from './connection-tls.ts';

/** COMMIT was sent and its answer never came: the transaction may or may not have happened. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super('The connection was lost during COMMIT', { cause });
    this.name = 'CommitUnknown';
  }
}

/** Whether work was refused and its transaction rolled back. Without an answer to COMMIT it may have happened all the same, now or later. */
export function isRefusal(error: unknown): error is Failure {
  return error instanceof Failure && !isCommitUnknown(error);
}

function isCommitUnknown(error: unknown): boolean {
  return error instanceof Error && (error instanceof CommitUnknown || isCommitUnknown(error.cause));
}

/** The transaction was rolled back although its function returned. */
export class CommitRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommitRefused';
  }
}

/** Whether the error is the violation of this unique constraint or index (of any, when no name is given). */
export function isUniqueViolation(error: unknown, constraintName?: string): boolean {
  return (
    error instanceof pg.DatabaseError &&
    error.code === '23505' &&
    (constraintName === undefined || error.constraint === constraintName)
  );
}

/** Whether the error is the violation of this check, or of a trigger that speaks for one. */
export function isCheckViolation(error: unknown, constraintName: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23514' && error.constraint === constraintName;
}

/** Whether the error is a serialization failure or a deadlock, after which the same transaction may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
}

/** Whether a statement did not get a lock: it waited for too long, or a deadlock has ended it. */
export function isLockMissing(error: unknown): boolean {
  const code = sqlState(error);
  return code === '55P03' || code === '40P01';
}

/** The SQLSTATE of an error of the server, also when it has become the cause of a Failure. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code;
  return error instanceof Error && error.cause !== undefined && error.cause !== error
    ? sqlState(error.cause)
    : undefined;
}

/**
 * The failure for a transient database error: a lock timeout and a deadlock are `lock_timeout`, a statement that took too long, a server that
 * cannot be reached and one without disk or memory are `service_unavailable`, both 503 and worth the same request again. Everything else stays
 * as it is.
 */
export function translateError(error: unknown): unknown {
  if (error instanceof Failure) return error;
  const code = sqlState(error);
  if (code === '55P03' || code === '40P01' || code === '40001') {
    return new Failure('lock_timeout', { retryAfterSeconds: 1, cause: error });
  }
  if (code === '57014' || isOutOfResources(code) || isConnectionLoss(error) || tlsFailure(error) !== undefined) {
    return new Failure('service_unavailable', { retryAfterSeconds: 1, cause: error });
  }
  return error;
}

// 53100: the disk is full. 53200: out of memory. Later, the same request may succeed.
function isOutOfResources(code: string | undefined): boolean {
  return code?.startsWith('53') === true;
}

// Of the system, and of Node for a socket that was ended while this process did not run. Without free ports or files, no connection can be made at this moment.
const lossCodes =
  /^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOST|ENET|ENOENT|EADDRNOTAVAIL|EMFILE|ENFILE|ERR_STREAM_|ERR_SOCKET_CLOSED)/;

/** Whether the error means that the server cannot be reached or has dropped the connection. */
export function isConnectionLoss(error: unknown): boolean {
  const code = sqlState(error);
  if (code !== undefined)
    return code.startsWith('08') || code === '53300' || /^57P0[1-5]$/.test(code) || code === '25P03';
  if (!(error instanceof Error)) return false;
  if (error.cause instanceof Error && isConnectionLoss(error.cause)) return true;
  const system = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (lossCodes.test(system)) return true;
  // pg reports these without a code.
  return /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/.test(
    error.message,
  );
}
