/** What is remembered about how an endpoint has been answering. */
export interface EndpointHealth {
  /** Failures in a row that say that the receiver is down: no answer, 429 or 5xx. */
  readonly failuresInRow: number;
  /** When the first failure since the last success was, or null. */
  readonly failingSince: Date | null;
  /** Nothing is sent before this time, or null. */
  readonly openUntil: Date | null;
}

/** An endpoint without one success for this long is disabled (decisions 8). */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** After this many failures in a row an endpoint gets one probe at a time. */
export const breakerThreshold = 5;

/**
 * The health after attempts that ended together and of which none succeeded; `unreachable` of them say that the receiver is down. One success
 * would clear everything: what happened beside it was no outage.
 */
export function healthAfter(health: EndpointHealth, unreachable: number, now: Date): EndpointHealth {
  const failuresInRow = health.failuresInRow + unreachable;
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

// 5 s doubling to 5 min: a receiver that comes back is found within five minutes whatever its deliveries' own waits have grown to.
function breakerWaitMs(failuresInRow: number): number {
  return Math.min(5_000 * 2 ** Math.min(failuresInRow - breakerThreshold, 10), 5 * 60_000);
}
