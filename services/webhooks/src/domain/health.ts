/** What is remembered about how an endpoint has been answering. */
export interface EndpointHealth {
  /** Failures in a row that say that the receiver is down: no answer, 429 or 5xx. */
  readonly failuresInRow: number;
  /** When the first failure since the last success was, or null. */
  readonly failingSince: Date | null;
  /** When the first of the failures in a row was, or null. */
  readonly unreachableSince: Date | null;
  /** Nothing is sent before this time, or null. */
  readonly openUntil: Date | null;
  /** When the account last asked for a retry by the API, or null. */
  readonly retryAskedAt: Date | null;
}

/** Attempts to one endpoint that ended together and of which none succeeded. */
export interface FailedAttempts {
  /** How many of them say that the receiver is down. */
  readonly unreachable: number;
  readonly lastStartedAt: Date;
}

/** An endpoint without one success for this long is disabled (decisions 8). */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** After this many failures in a row an endpoint gets one probe at a time. */
export const breakerThreshold = 5;

/**
 * The health after failed attempts. One success would clear everything: what happened beside it was no outage. The breaker waits as long as the
 * receiver has been away: sixteen failures at once are one moment, and a receiver that restarts is found within a second or two.
 */
export function healthAfter(health: EndpointHealth, failed: FailedAttempts, now: Date): EndpointHealth {
  const failuresInRow = health.failuresInRow + failed.unreachable;
  const known = health.failuresInRow > 0 ? health.unreachableSince : null;
  const unreachableSince = failuresInRow > 0 ? (known ?? now) : null;
  // A retry that was asked for while these attempts were on their way does not wait for their breaker.
  const isAskedFor = health.retryAskedAt !== null && health.retryAskedAt > failed.lastStartedAt;
  const isOpen = failuresInRow >= breakerThreshold && !isAskedFor;
  return {
    failuresInRow,
    failingSince: health.failingSince ?? now,
    unreachableSince,
    openUntil: isOpen
      ? new Date(now.getTime() + breakerWaitMs(now.getTime() - (unreachableSince ?? now).getTime()))
      : null,
    retryAskedAt: health.retryAskedAt,
  };
}

/** Whether the endpoint has failed for so long that it is given up. */
export function isGivenUp(health: EndpointHealth, now: Date): boolean {
  return health.failingSince !== null && now.getTime() - health.failingSince.getTime() >= disableAfterMs;
}

// Probes after 1, 2, 4, 8 seconds and so on, then every 5 min: a receiver that comes back is found within five minutes whatever its
// deliveries' own waits have grown to.
function breakerWaitMs(awayMs: number): number {
  return Math.min(Math.max(awayMs, 1_000), 5 * 60_000);
}
