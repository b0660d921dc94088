import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs what no client waits for: a job, a consumer of events, or a call that a service makes for one. It waits for connections beside the calls of the account and not behind them, since
 * work for other accounts may wait for it.
 */
export function asOwnWork<Result>(run: () => Result): Result {
  return isOwnWork() ? run() : own.run(true, run);
}

/** Runs a call of a client. In one process with the caller it may begin within such work. */
export function asCall<Result>(run: () => Result): Result {
  return isOwnWork() ? own.run(false, run) : run();
}

/** Whether the current work is such work. */
export function isOwnWork(): boolean {
  return own.getStore() === true;
}

const own = new AsyncLocalStorage<boolean>();
