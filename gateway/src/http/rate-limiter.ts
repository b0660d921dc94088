/** What a limiter says of one request. */
export interface Allowance {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests that would be let through at once from now. */
  readonly remaining: number;
  /** Seconds until the whole burst is free again. */
  readonly resetSeconds: number;
  /** Seconds to wait before a refused request may come again. */
  readonly retryAfterSeconds: number;
}

/** A burst of four seconds' worth (decisions 13). */
const usualBurstMs = 4_000;
/** Keys that may be kept before those that have caught up are looked for. */
const keysKept = 10_000;

/**
 * The generic cell rate algorithm, in memory: for each key the time at which it would have caught up with its rate. Exact over any window, and
 * one map entry per key, without timers.
 */
export class RateLimiter {
  readonly #caughtUpAt = new Map<string, number>();
  readonly #burstMs: number;
  #pruneAt = keysKept;

  /** What a key saves up in `burstMs` may come at once. */
  constructor(burstMs = usualBurstMs) {
    this.#burstMs = burstMs;
  }

  take(key: string, perSecond: number, nowMs: number): Allowance {
    const gapMs = 1_000 / perSecond;
    const from = Math.max(this.#caughtUpAt.get(key) ?? 0, nowMs);
    const to = from + gapMs;
    const limit = perSecond;
    // Half a gap of slack for what floating point loses.
    if (to - nowMs > this.#burstMs + gapMs / 2) {
      const waitMs = to - nowMs - this.#burstMs;
      return {
        allowed: false,
        limit,
        remaining: 0,
        resetSeconds: Math.ceil((from - nowMs) / 1_000),
        retryAfterSeconds: Math.max(1, Math.ceil(Math.round(waitMs) / 1_000)),
      };
    }
    this.#set(key, to, nowMs);
    return {
      allowed: true,
      limit,
      remaining: Math.floor((this.#burstMs - (to - nowMs)) / gapMs + 0.5),
      resetSeconds: Math.ceil((to - nowMs) / 1_000),
      retryAfterSeconds: 0,
    };
  }

  /** Counts so many at once, also beyond the burst. */
  add(key: string, perSecond: number, count: number, nowMs: number): void {
    this.#set(key, Math.max(this.#caughtUpAt.get(key) ?? 0, nowMs) + (count * 1_000) / perSecond, nowMs);
  }

  /** For how long a key is beyond its burst; not positive where it is within it. */
  overMs(key: string, nowMs: number): number {
    return (this.#caughtUpAt.get(key) ?? nowMs) - nowMs - this.#burstMs;
  }

  /** Takes an allowed request back: it is not counted. */
  giveBack(key: string, perSecond: number): void {
    const at = this.#caughtUpAt.get(key);
    if (at !== undefined) this.#caughtUpAt.set(key, at - 1_000 / perSecond);
  }

  #set(key: string, caughtUpAt: number, nowMs: number): void {
    this.#caughtUpAt.set(key, caughtUpAt);
    if (this.#caughtUpAt.size > this.#pruneAt) this.#prune(nowMs);
  }

  // What is left has made requests within the burst, and none of it may be forgotten: its limit would begin anew. Looking only when there
  // are twice as many again keeps the work of one request the same however many keys there are.
  #prune(nowMs: number): void {
    for (const [key, at] of this.#caughtUpAt) if (at <= nowMs) this.#caughtUpAt.delete(key);
    this.#pruneAt = Math.max(keysKept, this.#caughtUpAt.size * 2);
  }
}
