import type { Scope } from '@eligo/postgres';

/** How fast this process charges what is due, account by account. */
export interface ChargePace {
  /** Takes the turn of one charge; undefined if there is one, or when to ask again. Those who wait are told different times, in the order in which they ask. */
  take(scope: Scope, now: Date): Date | undefined;
  /** The processor has turned a charge away: none of this account is due before. */
  pause(scope: Scope, until: Date): void;
  /** When a pause of an account is over; undefined without one. */
  pausedUntil(scope: Scope, now: Date): Date | undefined;
}

/** A token bucket. */
export interface PaceLimits {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  /** When the next token is there, if there is none in store: a full bucket has one for each turn since then. */
  tokenAtMs: number;
  pausedUntilMs: number;
  /** When the last one that waits asks again. */
  lastTurnMs: number;
}

// A bucket that is full and has no pause is as good as none; this many are kept before such are dropped.
const mostBuckets = 10_000;

/**
 * A token bucket for each account and mode, which charges at one processor account. Accounts do not share tokens, so that a pause or a long queue of one delays no
 * other.
 */
export function createChargePace({ perSecond, burst }: PaceLimits): ChargePace {
  const buckets = new Map<string, Bucket>();
  const turnMs = 1_000 / perSecond;

  function bucketOf(scope: Scope, nowMs: number): Bucket {
    const key = `${scope.accountId} ${scope.testMode}`;
    const known = buckets.get(key);
    if (known !== undefined) return known;
    if (buckets.size >= mostBuckets) dropIdle(nowMs);
    const made = { tokenAtMs: 0, pausedUntilMs: 0, lastTurnMs: 0 };
    buckets.set(key, made);
    return made;
  }

  function dropIdle(nowMs: number): void {
    for (const [key, { tokenAtMs, pausedUntilMs, lastTurnMs }] of buckets) {
      if (Math.max(tokenAtMs + burst * turnMs, pausedUntilMs, lastTurnMs) <= nowMs) buckets.delete(key);
    }
  }

  return {
    take(scope, now) {
      const nowMs = now.getTime();
      const bucket = bucketOf(scope, nowMs);
      const tokenAtMs = Math.max(bucket.tokenAtMs, nowMs - (burst - 1) * turnMs);
      if (bucket.pausedUntilMs <= nowMs && tokenAtMs <= nowMs) {
        bucket.tokenAtMs = tokenAtMs + turnMs;
        return undefined;
      }
      bucket.lastTurnMs = Math.max(bucket.lastTurnMs + turnMs, bucket.pausedUntilMs, tokenAtMs);
      return new Date(Math.ceil(bucket.lastTurnMs));
    },
    pause(scope, until) {
      const bucket = bucketOf(scope, 0);
      bucket.pausedUntilMs = Math.max(bucket.pausedUntilMs, until.getTime());
    },
    pausedUntil(scope, now) {
      const { pausedUntilMs } = bucketOf(scope, now.getTime());
      return pausedUntilMs > now.getTime() ? new Date(pausedUntilMs) : undefined;
    },
  };
}
