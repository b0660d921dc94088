import type { Scope } from '@eligo/postgres';
import type { EndedWork } from '../../actions/record-attempts.ts';
import type { AttemptResult } from '../../domain/delivery.ts';
import { scopeKey } from './lanes.ts';

/**
 * Writes results in batches that grow with the load: while one batch of an account is being written the next gathers, so that a lone result
 * is written at once and ten thousand share a few commits.
 */
export class Recorder {
  readonly #write: (scope: Scope, work: EndedWork) => Promise<void>;
  readonly #batches = new Map<string, Batch>();
  readonly #writing = new Set<Promise<void>>();

  constructor(write: (scope: Scope, work: EndedWork) => Promise<void>) {
    this.#write = write;
  }

  /** Takes the result of an attempt. */
  record(scope: Scope, result: AttemptResult): void {
    this.#batchOf(scope).results.push(result);
    this.#start(scope);
  }

  /** Takes back a claim that will not be used. */
  release(scope: Scope, claim: { deliveryId: string; epoch: number }): void {
    this.#batchOf(scope).released.push(claim);
    this.#start(scope);
  }

  /** Resolves when everything that was taken is written. */
  async idle(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  #batchOf(scope: Scope): Batch {
    const key = scopeKey(scope);
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      batch = { results: [], released: [], isWriting: false };
      this.#batches.set(key, batch);
    }
    return batch;
  }

  #start(scope: Scope): void {
    const batch = this.#batchOf(scope);
    if (batch.isWriting) return;
    batch.isWriting = true;
    const writing = this.#drain(scope, batch).finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  async #drain(scope: Scope, batch: Batch): Promise<void> {
    // Results that are ready in the same turn go together.
    await new Promise((resolve) => setImmediate(resolve));
    while (batch.results.length > 0 || batch.released.length > 0) {
      await this.#write(scope, {
        results: batch.results.splice(0, mostInOneCommit),
        released: batch.released.splice(0, mostInOneCommit),
      });
    }
    batch.isWriting = false;
    this.#batches.delete(scopeKey(scope));
  }
}

interface Batch {
  readonly results: AttemptResult[];
  readonly released: { deliveryId: string; epoch: number }[];
  isWriting: boolean;
}

// Bounds the row locks and the work that one failed commit throws away.
const mostInOneCommit = 500;
