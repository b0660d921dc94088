/** How often in a row this process was turned away from each endpoint, because another one is sending to it. */
export class TurnsAway {
  readonly #times = new Map<string, number>();

  /** Notes that the process was turned away once more, and says whether it asks again. */
  isAnother(key: string): boolean {
    const times = (this.#times.get(key) ?? 0) + 1;
    if (times > most) this.#times.delete(key);
    else this.#times.set(key, times);
    return times <= most;
  }

  /** Forgets an endpoint from which the process was not turned away. Otherwise each would be remembered for the life of the process. */
  forget(key: string): void {
    this.#times.delete(key);
  }
}

// With 50 ms between them, a second.
const most = 20;
