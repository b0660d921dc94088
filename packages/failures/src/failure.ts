import type { FailureRow } from './row.ts';
import { type FailureCode, failureTable, isFailureCode } from './table.ts';

/** What is wrong with one field of the body or the query. `loc` is the path to it, list positions as strings too. */
export interface Violation {
  readonly loc: readonly string[];
  readonly msg: string;
  /** A code of the table, or the validator's own name for the fault. */
  readonly type: FailureCode | (string & {});
}

/** What a Failure may carry beside its code. */
export interface FailureOptions {
  /** Text for the caller, instead of the table's; never internal. */
  readonly detail?: string | undefined;
  readonly declineCode?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly violations?: readonly Violation[] | undefined;
  /** Why, for the logs only: it never crosses a process. */
  readonly cause?: unknown;
}

/** More entries would not help the client, and a call carries an error in its trailers, which have no room for more. */
export const mostViolations = 100;

/** An expected refusal: it crosses calls intact and is answered as its row of the table says. */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly detail: string;
  readonly declineCode: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly violations: readonly Violation[] | undefined;

  constructor(code: FailureCode, options: FailureOptions = {}) {
    const detail = options.detail ?? failureTable[code].detail;
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.detail = detail;
    this.declineCode = options.declineCode;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.violations = options.violations?.slice(0, mostViolations);
  }

  /** The refusal of one field of the body or the query: a 422 list with one entry. */
  static invalid(loc: readonly string[], type: Violation['type'], msg: string): Failure {
    return Failure.violations([{ loc, msg, type }]);
  }

  /** The refusal of several fields at once. */
  static violations(violations: readonly Violation[]): Failure {
    return new Failure('validation_error', { violations });
  }

  get row(): FailureRow {
    return failureTable[this.code];
  }

  get status(): number {
    return this.row.status;
  }
}

/** The public body of a Failure (ERR-1, ERR-2). */
export type FailureBody =
  | { readonly code: string; readonly detail: string; readonly decline_code?: string }
  | { readonly detail: readonly Violation[] };

/** The public answer to a Failure: its status, its body (what happened and what to do about it), and the headers that go with it. */
export function failureAnswer(failure: Failure): {
  status: number;
  headers: Record<string, string>;
  body: FailureBody;
} {
  const headers: Record<string, string> =
    failure.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.ceil(failure.retryAfterSeconds)) };
  const { status } = failure;
  if (failure.violations !== undefined) {
    return { status, headers, body: { detail: failure.violations.map(inWords) } };
  }
  const body = { code: failure.code, detail: `${failure.detail} ${failure.row.remedy}` };
  return {
    status,
    headers,
    body: failure.declineCode === undefined ? body : { ...body, decline_code: failure.declineCode },
  };
}

// An entry that says no more than its code says what that means, as a refusal's `detail` does. One that names a record stays as it is.
function inWords({ loc, msg, type }: Violation): Violation {
  if (msg !== type || !isFailureCode(type)) return { loc, msg, type };
  const { detail, remedy } = failureTable[type];
  return { loc, msg: `${type}: ${detail} ${remedy}`, type };
}
