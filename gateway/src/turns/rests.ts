import type { Neighbors } from './neighbors.ts';

/** The rests of accounts after dear work, while their neighbors are short of time: what took a time is followed by a pause of four times as much. */
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
/** Half of the longest wait for a turn. */
const longestMs = 2_000;
