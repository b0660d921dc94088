import { setTimeout as delay } from 'node:timers/promises';
import type { DescMethod } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { canceledBy } from './cancellation.ts';

const maxRetries = 2;
const firstBackoffMs = 25;
/** Retries may be at most this share of calls, so that a peer in trouble is not sent a multiple of its load. */
const budgetShare = 0.1;
/** What an idle client may have saved up: enough for a short outage to be bridged. */
const budgetLimit = 10;

/** How many retries a client may still make: each call earns a tenth of one. */
export class RetryBudget {
  #saved = budgetLimit;

  earn(): void {
    this.#saved = Math.min(budgetLimit, this.#saved + budgetShare);
  }

  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }
}

/** Whether a call that failed may be sent again: only reads, only when the peer could not be reached, at most twice, within the budget. */
export function mayRetry(method: DescMethod, error: unknown, retries: number, budget: RetryBudget): boolean {
  return (
    retries < maxRetries &&
    method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS &&
    error instanceof ConnectError &&
    error.code === Code.Unavailable &&
    // A refusal that the handler decided on comes with its own advice; the transport's errors have no details.
    error.details.length === 0 &&
    budget.spend()
  );
}

/** Waits before a retry, with full jitter. Rejects with the end of the call when `signal` is aborted. */
export async function backOff(retries: number, signal: AbortSignal | undefined): Promise<void> {
  const atMostMs = firstBackoffMs * 4 ** retries;
  const waitMs = Math.random() * atMostMs;
  if (signal === undefined) return delay(waitMs);
  try {
    await delay(waitMs, undefined, { signal });
  } catch {
    throw canceledBy(signal);
  }
}
