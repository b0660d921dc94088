/** What is remembered about how an endpoint has been answering. */
export interface EndpointHealth {
  /** Failures in a row that say that the receiver is down: no answer, 429 or 5xx. */
  readonly failuresInRow: number;
  /** When the first failure since the last success was, or null. */
  readonly failingSince: Date | null;
  /** Nothing is sent before this time, or null. */
  readonly openUntil: Date | null;
}

/** The attempts on one endpoint that ended together. */
export interface AttemptTally {
  readonly succeeded: number;
  /** Failures that say that the receiver is down. */
  readonly unreachable: number;
  /** Failures of any kind. */
  readonly failed: number;
}

/** An endpoint without one success for this long is disabled (decisions 8). */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** After this many failures in a row an endpoint gets one probe at a time. */
export const breakerThreshold = 5;

/** The health after these attempts. One success clears everything: what happened beside it was not an outage. */
export function healthAfter(health: EndpointHealth, tally: AttemptTally, now: Date): EndpointHealth {
  if (tally.succeeded > 0) return healthy;
  if (tally.failed === 0) return health;
  const failuresInRow = health.failuresInRow + tally.unreachable;
  return {
    failuresInRow,
    failingSince: health.failingSince ?? now,
    openUntil: failuresInRow >= breakerThreshold ? new Date(now.getTime() + breakerWaitMs(failuresInRow)) : null,
  };
}

/** Whether the endpoint has failed for so long that it is given up. */
export function isGivenUp(health: EndpointHealth, now: Date): boolean {
  return health.failingSince !== null && now.getTime() - health.failingSince.getTime() >= disableAfterMs;
}

/** An endpoint of which nothing bad is known. */
export const healthy: EndpointHealth = { failuresInRow: 0, failingSince: null, openUntil: null };

// 5 s doubling to 5 min: a receiver that comes back is found within five minutes whatever its deliveries' own waits have grown to.
function breakerWaitMs(failuresInRow: number): number {
  return Math.min(5_000 * 2 ** Math.min(failuresInRow - breakerThreshold, 10), 5 * 60_000);
}
