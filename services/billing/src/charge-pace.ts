import { randomUUID } from 'node:crypto';
import type { Scope } from '@eligo/postgres';

/** How fast this process charges what is due, account by account. */
export interface ChargePace {
  /** What the instances that share the pace know this one by. */
  readonly instanceId: string;
  /** Divides the pace by the number of instances that charge. Asks for the number at most once in `everyMs`; callers that come meanwhile wait for the answer. */
  share(now: Date, everyMs: number, count: () => Promise<number>): Promise<void>;
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
  /** When `take` was last called. */
  lastTakeMs: number;
}

// A longer queue asks again then. A hold that ends much later is taken for one of a clock that was ahead (store/due-subscriptions.ts).
const longestTurnMs = 10 * 60_000;
// Checkout asks for a minute at most (decisions 14.190).
const longestPauseMs = 60_000;
// Those who ask at the same time read the clock some seconds apart.
const setBackMs = 60_000;

// A bucket that is full and has no pause is as good as none; this many are kept before such are dropped.
const mostBuckets = 10_000;

/**
 * A token bucket for each account and mode, which charges at a processor account of its own. Accounts do not share tokens, so that a pause or a long queue of one
 * delays no other. Where several instances charge, each has its part of the tokens.
 */
export function createChargePace(limits: PaceLimits): ChargePace {
  const buckets = new Map<string, Bucket>();
  let turnMs = 1_000 / limits.perSecond;
  let { burst } = limits;
  let askedAtMs: number | undefined;
  let asked = Promise.resolve();

  function bucketOf(scope: Scope, nowMs: number): Bucket {
    const key = `${scope.accountId} ${scope.testMode}`;
    const known = buckets.get(key);
    if (known !== undefined) return known;
    if (buckets.size >= mostBuckets) dropIdle(nowMs);
    const made = { tokenAtMs: 0, pausedUntilMs: 0, lastTurnMs: 0, lastTakeMs: 0 };
    buckets.set(key, made);
    return made;
  }

  // The wall clock may be set back. What was noted before is then at most as far ahead as it can be now.
  function bucketAt(scope: Scope, nowMs: number): Bucket {
    const bucket = bucketOf(scope, nowMs);
    bucket.tokenAtMs = Math.min(bucket.tokenAtMs, nowMs + turnMs);
    bucket.pausedUntilMs = Math.min(bucket.pausedUntilMs, nowMs + longestPauseMs);
    if (nowMs < bucket.lastTakeMs - setBackMs) bucket.lastTurnMs = 0;
    return bucket;
  }

  function dropIdle(nowMs: number): void {
    for (const [key, { tokenAtMs, pausedUntilMs, lastTurnMs }] of buckets) {
      if (Math.max(tokenAtMs + burst * turnMs, pausedUntilMs, lastTurnMs) <= nowMs) buckets.delete(key);
    }
  }

  async function divide(count: () => Promise<number>): Promise<void> {
    try {
      const instances = await count();
      turnMs = (1_000 / limits.perSecond) * instances;
      burst = Math.max(1, Math.floor(limits.burst / instances));
    } catch (error) {
      askedAtMs = undefined;
      throw error;
    }
  }

  return {
    instanceId: randomUUID(),
    share(now, everyMs, count) {
      const nowMs = now.getTime();
      // The wall clock may be set back.
      if (askedAtMs !== undefined && Math.abs(nowMs - askedAtMs) < everyMs) return asked;
      askedAtMs = nowMs;
      asked = divide(count);
      return asked;
    },
    take(scope, now) {
      const nowMs = now.getTime();
      const bucket = bucketAt(scope, nowMs);
      bucket.lastTakeMs = nowMs;
      const tokenAtMs = Math.max(bucket.tokenAtMs, nowMs - (burst - 1) * turnMs);
      if (bucket.pausedUntilMs <= nowMs && tokenAtMs <= nowMs) {
        bucket.tokenAtMs = tokenAtMs + turnMs;
        return undefined;
      }
      const nextTurnMs = Math.max(bucket.lastTurnMs + turnMs, bucket.pausedUntilMs, tokenAtMs);
      bucket.lastTurnMs = Math.min(nextTurnMs, nowMs + longestTurnMs);
      return new Date(Math.ceil(bucket.lastTurnMs));
    },
    pause(scope, until) {
      const bucket = bucketOf(scope, 0);
      bucket.pausedUntilMs = Math.max(bucket.pausedUntilMs, until.getTime());
    },
    pausedUntil(scope, now) {
      const { pausedUntilMs } = bucketAt(scope, now.getTime());
      return pausedUntilMs > now.getTime() ? new Date(pausedUntilMs) : undefined;
    },
  };
}
