import type { Code } from '@connectrpc/connect';
import { rpcCodeOf } from './rpc-code.ts';

/** What a client gains by asking again: nothing, something once the request or the record has changed, or the same answer later. */
export type RetryAdvice = 'never' | 'after_change' | 'same_request';

/** A row of the failure table. */
export interface FailureRow {
  /** HTTP status of the public answer. */
  readonly status: number;
  readonly rpc: Code;
  readonly retry: RetryAdvice;
  /** The public text; never internal. */
  readonly detail: string;
  /** What the client can do about the error, in plain words. */
  readonly remedy: string;
}

/** A row. `retry` says what asking again gains: most refusals need a change. */
export function row(status: number, detail: string, remedy: string, retry: RetryAdvice = 'after_change'): FailureRow {
  return { status, rpc: rpcCodeOf(status), retry, detail, remedy };
}
