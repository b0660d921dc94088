/** A map that holds at most `limit` entries and forgets the one that was used least recently. Expired entries are not returned. */
export class BoundedCache<Value> {
  readonly #limit: number;
  readonly #entries = new Map<string, { value: Value; expiresAt: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiresAt <= nowMs) {
      this.#entries.delete(key);
      return undefined;
    }
    // Re-inserting keeps the order of use, and is only worth its cost once something may have to go.
    if (this.#entries.size * 2 > this.#limit) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry.value;
  }

  set(key: string, value: Value, expiresAt: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt });
    if (this.#entries.size <= this.#limit) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }
}
