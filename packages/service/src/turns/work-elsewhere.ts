/** How much other processes work for the requests of this one, by what they tell: milliseconds in each millisecond, over the last second. */
export class WorkElsewhere {
  readonly #now: () => number;
  #sinceMs: number;
  #workedMs = 0;
  #workedBeforeMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#sinceMs = now() - spanMs;
  }

  note(workedMs: number): void {
    this.#passOn();
    this.#workedMs += workedMs;
  }

  /** More than 1 where several processors work at the same time. */
  get utilization(): number {
    this.#passOn();
    return (this.#workedBeforeMs + this.#workedMs) / (spanMs + this.#now() - this.#sinceMs);
  }

  // The span that is over counts until the next one is.
  #passOn(): void {
    const spans = Math.floor((this.#now() - this.#sinceMs) / spanMs);
    if (spans === 0) return;
    this.#workedBeforeMs = spans === 1 ? this.#workedMs : 0;
    this.#workedMs = 0;
    this.#sinceMs += spans * spanMs;
  }
}

const spanMs = 500;
