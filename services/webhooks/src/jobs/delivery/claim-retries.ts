/** How often in a row this process could not claim for each endpoint, because another one is sending to it. */
export class ClaimRetries {
  readonly #times = new Map<string, number>();

  /** Counts a claim that failed for this endpoint. False after so many that the sweep is left to find what waits. */
  mayRetry(key: string): boolean {
    const times = (this.#times.get(key) ?? 0) + 1;
    if (times > most) this.#times.delete(key);
    else this.#times.set(key, times);
    return times <= most;
  }

  /** Forgets an endpoint for which a claim did not fail. Otherwise each would be remembered for the life of the process. */
  forget(key: string): void {
    this.#times.delete(key);
  }
}

// With 50 ms between them, a second.
const most = 20;
