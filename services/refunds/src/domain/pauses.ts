const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Pauses before asking again what became of something that nobody knows: each ten seconds while it is young, so that what a crash or a short outage has
 * left is found out within ten seconds of its end, then each minute for a quarter of an hour; the last one is repeated.
 */
export const pausesWhileUnknownMs: readonly number[] = [
  ...[1_000, 2_000, 4_000, 8_000, ...Array<number>(17).fill(10_000)],
  ...[...Array<number>(15).fill(minute), 5 * minute],
];

/** The pause after so many checks. */
export function pauseWhileUnknownMs(checks: number): number {
  return pausesWhileUnknownMs[checks] ?? 5 * minute;
}

/** The pause after so many calls in which checkout did not restore a remaining balance. The eighth comes after more than five minutes, and is counted as work in doubt. */
export function pauseOfReleaseMs(checks: number): number {
  return [1_000, 5_000, 30_000, ...Array<number>(15).fill(minute)][checks] ?? 5 * minute;
}

/** The pause while the processor is known to be down: nothing is asked, so that no check counts and the next one comes soon after its return. */
export const pauseWhileDownMs = 5_000;

/** The pause while the processor at which the money is is not configured: an operator has to act. */
export const pauseWhileNotConfiguredMs = 60_000;

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

/**
 * The pause before a dispute is looked at again without an event: an open one moves within hours or weeks, and one that was decided may be appealed for some
 * time. Undefined when nothing more is expected; an event has it looked at all the same.
 */
export function pauseOfDisputeMs(checks: number, isClosed: boolean): number | undefined {
  return isClosed ? [day, 7 * day, 30 * day, 90 * day][checks] : checks < 4 ? hour : 6 * hour;
}
