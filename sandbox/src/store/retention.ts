import type { Write } from './group-commit.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';
import type { Records } from './records.ts';

export interface RetentionParts {
  keys: Pick<IdempotencyKeys, 'purge'>;
  records: Pick<Records, 'purgeEvents'>;
  /** How far the clock of the keys runs ahead of the wall clock, in milliseconds. */
  keyClockAheadMs: () => number;
}

/** As long as Stripe keeps events. */
const eventRetentionSeconds = 30 * 24 * 60 * 60;
const everyMs = 10 * 60 * 1000;
/** While there is more: what a sandbox at its fastest makes in a second is forgotten in a second. */
const nextMs = 250;
const mostAtOnce = 5_000;

/** Deletes keys and events that have lapsed, at most `most` of each. True when there may be more. */
export function forgetLapsed({ keys, records, keyClockAheadMs }: RetentionParts, nowMs: number, most: number): boolean {
  const forgotten = keys.purge(nowMs + keyClockAheadMs(), most);
  const lookedAt = records.purgeEvents(Math.floor(nowMs / 1000) - eventRetentionSeconds, most);
  return forgotten === most || lookedAt === most;
}

/** Forgets what lapses from now on, a part of it at a time. Returns a function that ends it. */
export function startRetention(parts: RetentionParts, write: Write, onBug: (error: unknown) => void): () => void {
  let isOver = false;
  let timer = setTimeout(look, everyMs).unref();

  async function look(): Promise<void> {
    let isMore = false;
    try {
      isMore = await write(() => forgetLapsed(parts, Date.now(), mostAtOnce));
    } catch (error) {
      // The store is closed while the sandbox stops.
      if (!isOver) onBug(error);
    }
    if (!isOver) timer = setTimeout(look, isMore ? nextMs : everyMs).unref();
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
