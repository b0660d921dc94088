import type { Neighbors } from './neighbors.ts';

/** The rests of accounts after dear work, while their neighbors are short of time: what took a time is followed by a pause of four times as much, up to a bound. */
export class Rests {
  readonly #neighbors: Neighbors;
  readonly #untilMs = new Map<string, number>();

  constructor(neighbors: Neighbors) {
    this.#neighbors = neighbors;
  }

  /** Dear work of the account has taken so long. */
  begin(accountId: string, tookMs: number): void {
    if (!this.#neighbors.areShort(accountId)) return;
    const nowMs = this.#neighbors.now();
    for (const [other, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(other);
    const fromMs = Math.max(nowMs, this.#untilMs.get(accountId) ?? 0);
    this.#untilMs.set(accountId, Math.min(fromMs + tookMs * timesOfWork, nowMs + longestMs));
  }

  isResting(accountId: string): boolean {
    const untilMs = this.#untilMs.get(accountId);
    return untilMs !== undefined && untilMs > this.#neighbors.now() && this.#neighbors.areShort(accountId);
  }
}

// So that the dear work of an account has a fifth of the time.
const timesOfWork = 4;
/** On a slow machine work takes long because it waits for others, and forty parts of files must arrive within the half minute of a request. */
const longestMs = 300;
