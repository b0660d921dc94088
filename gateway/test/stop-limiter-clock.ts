import { onTestFinished, vi } from 'vitest';
import { RateLimiter } from '../src/http/rate-limiter.ts';

/**
 * Until the test ends, no time passes for rate limits but what the test lets pass with `advance`: on a slow machine some of a limit would be free again before the
 * last request is sent.
 */
export function stopLimiterClock(): { advance(ms: number): void } {
  const { take } = RateLimiter.prototype;
  let nowMs = performance.now();
  const stopped = vi.spyOn(RateLimiter.prototype, 'take').mockImplementation(function (
    this: RateLimiter,
    key,
    perSecond,
  ) {
    return take.call(this, key, perSecond, nowMs);
  });
  onTestFinished(() => stopped.mockRestore());
  return {
    advance(ms) {
      nowMs += ms;
    },
  };
}
