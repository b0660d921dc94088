/**
 * Counts the failures of each event in this process. JetStream's own count of deliveries cannot serve: it also counts the deliveries that failed
 * because the database was slow or away. A restart begins again at zero, which only gives an event more tries.
 */
export class FailureCounter {
  readonly #failures = new Map<string, number>();

  /** Counts a failure of the event and returns how many it has had. */
  add(eventId: string): number {
    const failures = (this.#failures.get(eventId) ?? 0) + 1;
    this.#failures.delete(eventId);
    this.#failures.set(eventId, failures);
    // The map keeps the order of insertion: the first is the one whose last failure is longest ago.
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= mostCounted) break;
      this.#failures.delete(oldest);
    }
    return failures;
  }

  /** Forgets an event that was handled or dead-lettered. */
  forget(eventId: string): void {
    this.#failures.delete(eventId);
  }

  get size(): number {
    return this.#failures.size;
  }
}

/** A stream gives a consumer at most 512 unacknowledged events, and no consumer subscribes to more than five streams. */
export const mostCounted = 2_560;
