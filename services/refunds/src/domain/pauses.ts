const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Pauses before asking again what became of something that nobody knows: each minute for a quarter of an hour, so that what an outage has left is
 * found out within a minute of its end; the last one is repeated.
 */
export const pausesWhileUnknownMs: readonly number[] = [1_000, 5_000, 30_000, ...Array(15).fill(minute), 5 * minute];

/** The pause after so many checks. */
export function pauseWhileUnknownMs(checks: number): number {
  return pausesWhileUnknownMs[checks] ?? 5 * minute;
}

/** The pause while the processor is known to be down: nothing is asked, so that no check counts and the next one comes soon after its return. */
export const pauseWhileDownMs = 5_000;

/** The pause after a look at what the processor has that found out nothing: it does not count, so that an outage ends no watch early. */
export const pauseAfterFailedLookMs = 5 * minute;

/**
 * Pauses before looking again at what the processor has: a pending refund moves by itself within seconds; one that went through may be returned
 * by the card's bank for some weeks, and is checked from a minute on. Undefined when it is settled for good.
 */
export function pauseWhileAcceptedMs(checks: number, isSettled: boolean): number | undefined {
  const pause = pausesWhileAcceptedMs[isSettled ? checks + 1 : checks];
  return pause === undefined && !isSettled ? day : pause;
}

/** Processors keep an idempotency key for 24 hours at least; an hour less leaves room for clocks and for a call in flight. */
export const keyRetentionMs = 23 * 3_600_000;

const pausesWhileAcceptedMs = [5_000, minute, 10 * minute, hour, 6 * hour, day, 3 * day, 7 * day, 14 * day, 30 * day];
