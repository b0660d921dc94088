import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs what a process does by itself for an account: a job, or a consumer of events. It waits for connections beside the calls of the account and not behind them, since
 * work for other accounts may wait for it.
 */
export function asOwnWork<Result>(run: () => Result): Result {
  return own.run(true, run);
}

/** Whether the current work is such work. */
export function isOwnWork(): boolean {
  return own.getStore() === true;
}

const own = new AsyncLocalStorage<true>();
