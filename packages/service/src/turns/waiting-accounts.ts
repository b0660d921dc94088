/** The accounts that wait for answers now, and those that mostly did until a moment ago. */
export class WaitingAccounts {
  readonly #now: () => number;
  readonly #waiting = new Map<string, Waiting>();
  /** Of accounts that do not wait now. What was noted last is at the end. */
  readonly #paused = new Map<string, Pause>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What is remembered. */
  get size(): number {
    return this.#waiting.size + this.#paused.size;
  }

  ids(): Iterable<string> {
    return this.#waiting.keys();
  }

  arrived(accountId: string): void {
    const one = this.#waiting.get(accountId);
    if (one !== undefined) {
      one.requests += 1;
      return;
    }
    const before = this.#paused.get(accountId);
    this.#paused.delete(accountId);
    const share = before === undefined ? 0 : this.#fallen(before);
    this.#waiting.set(accountId, { requests: 1, share, sinceMs: this.#now() });
  }

  left(accountId: string): void {
    const one = this.#waiting.get(accountId);
    if (one === undefined) return;
    one.requests -= 1;
    if (one.requests > 0) return;
    this.#waiting.delete(accountId);
    const sinceMs = this.#now();
    const share = 1 - (1 - one.share) * Math.exp((one.sinceMs - sinceMs) / averagedMs);
    this.#paused.set(accountId, { share, sinceMs });
    this.forget();
  }

  /** Whether another account waits for an answer now. */
  hasOther(accountId: string): boolean {
    return this.#waiting.size > 1 || (this.#waiting.size === 1 && !this.#waiting.has(accountId));
  }

  /** The other accounts that wait for an answer, or pause and waited for most of the last second: shoppers who pay one after the other leave gaps in which none of them waits. */
  *othersOf(accountId: string): Iterable<string> {
    for (const other of this.#waiting.keys()) if (other !== accountId) yield other;
    for (const [other, pause] of this.#paused)
      if (other !== accountId && this.#fallen(pause) >= mostOfTheTime) yield other;
  }

  /** Forgets pauses that are over: they tell nothing any more. */
  forget(): void {
    const untilMs = this.#now() - longestPauseMs;
    for (const [accountId, { sinceMs }] of this.#paused) {
      if (sinceMs > untilMs) return;
      this.#paused.delete(accountId);
    }
  }

  #fallen({ share, sinceMs }: Pause): number {
    return share * Math.exp((sinceMs - this.#now()) / averagedMs);
  }
}

/** For which part of the time an account waited when a pause, or its waiting, began; what is long ago counts less. */
interface Pause {
  readonly share: number;
  readonly sinceMs: number;
}

interface Waiting extends Pause {
  requests: number;
}

const averagedMs = 500;
/** An account that always waited pauses for a third of a second until it waited for less. */
const mostOfTheTime = 0.5;
const longestPauseMs = 1_000;
