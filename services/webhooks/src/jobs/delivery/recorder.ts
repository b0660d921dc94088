import type { Scope } from '@eligo/postgres';
import type { AttemptResult } from '../../domain/delivery.ts';
import { scopeKey } from './lanes.ts';

/**
 * Writes results in batches that grow with the load: those of ten milliseconds share a commit, and while one batch of an account is being
 * written the next gathers, so that ten thousand share a few commits.
 */
export class Recorder {
  readonly #write: (scope: Scope, results: readonly AttemptResult[]) => Promise<void>;
  readonly #batches = new Map<string, AttemptResult[]>();
  readonly #writing = new Set<Promise<void>>();

  constructor(write: (scope: Scope, results: readonly AttemptResult[]) => Promise<void>) {
    this.#write = write;
  }

  /** Takes the result of an attempt. */
  record(scope: Scope, result: AttemptResult): void {
    const key = scopeKey(scope);
    const batch = this.#batches.get(key);
    if (batch !== undefined) {
      batch.push(result);
      return;
    }
    const first = [result];
    this.#batches.set(key, first);
    const writing = this.#drain(scope, first).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  /** Resolves when everything that was taken is written. */
  async idle(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  async #drain(scope: Scope, batch: AttemptResult[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, gatherMs));
    while (batch.length > 0) await this.#write(scope, batch.splice(0, mostInOneCommit));
    this.#batches.delete(scopeKey(scope));
  }
}

// Nobody waits for a record: what it costs counts, and answers to requests that were sent together come within milliseconds of each other.
const gatherMs = 10;
// Bounds the row locks and the work that one failed commit throws away.
const mostInOneCommit = 2_000;
