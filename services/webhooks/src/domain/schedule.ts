/** Waits before each attempt of a delivery: the first at once, the tenth some 75 hours and a half later (decisions 8). */
export const attemptDelaysMs: readonly number[] = [
  0,
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  14 * 3_600_000,
  20 * 3_600_000,
  24 * 3_600_000,
];

/**
 * How long to wait after the `attempts`-th failed attempt, or undefined when that was the last one. Spread by ±10 % so that what failed
 * together does not come back together; `random` is in [0, 1). A receiver's own wish to be left alone is honoured when it is the longer wait.
 */
export function nextDelayMs(attempts: number, random: number, retryAfterMs = 0): number | undefined {
  const delay = attemptDelaysMs[attempts];
  if (delay === undefined) return undefined;
  return Math.max(Math.round(delay * (0.9 + 0.2 * random)), Math.min(retryAfterMs, longestRetryAfterMs));
}

/** `Retry-After` of a 429 or a 503 in milliseconds from `now`: seconds or an HTTP date, 0 when absent or not understood, at most 24 hours. */
export function retryAfterMs(status: number, header: string | undefined, now: Date): number {
  if ((status !== 429 && status !== 503) || header === undefined) return 0;
  const text = header.trim();
  const wished = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isFinite(wished) ? Math.min(Math.max(wished, 0), longestRetryAfterMs) : 0;
}

const longestRetryAfterMs = 24 * 3_600_000;
