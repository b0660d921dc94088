/** How many calls may be made at once, and how many a second after that. */
export interface Pace {
  readonly burst: number;
  readonly perSecond: number;
}

/** Says when calls may be made at a pace, on a clock in milliseconds. */
export class TokenBucket {
  readonly #everyMs: number;
  readonly #burstMs: number;
  readonly #now: () => number;
  // When the bucket is full again, if nothing more is taken from it.
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor({ burst, perSecond }: Pace, now: () => number) {
    this.#everyMs = 1_000 / perSecond;
    this.#burstMs = burst * this.#everyMs;
    this.#now = now;
  }

  /** Takes a token; answers how long to wait for it, in milliseconds. */
  takeInMs(): number {
    const now = this.#now();
    this.#fullAt = Math.max(this.#fullAt, now) + this.#everyMs;
    return Math.max(0, this.#fullAt - now - this.#burstMs);
  }
}
