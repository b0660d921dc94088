import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptDelaysMs, nextDelayMs, retryAfterMs } from '../src/domain/schedule.ts';

const now = new Date('2026-03-01T12:00:00.000Z');

describe('the schedule of attempts', () => {
  it('is at once, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h [HOOK-1]', () => {
    const seconds = attemptDelaysMs.map((ms) => ms / 1000);
    expect(seconds).toEqual([0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  });

  it('spreads each wait by at most ten percent either way', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, r) => {
          const delay = attemptDelaysMs[n] ?? 0;
          const wait = nextDelayMs(n, r) ?? -1;
          expect(wait).toBeGreaterThanOrEqual(Math.floor(delay * 0.9));
          expect(wait).toBeLessThanOrEqual(Math.ceil(delay * 1.1));
        },
      ),
    );
  });

  it('gives up after the tenth attempt', () => expect(nextDelayMs(10, 0.5)).toBeUndefined());

  it('waits as long as the receiver asks when that is longer', () => {
    expect(nextDelayMs(1, 0.5, 60_000)).toBe(60_000);
    expect(nextDelayMs(2, 0.5, 60_000)).toBe(300_000);
  });
});

describe('Retry-After', () => {
  it.each([
    ['seconds', 429, '120', 120_000],
    ['a date', 503, 'Sun, 01 Mar 2026 12:10:00 GMT', 600_000],
    ['at most 24 hours', 429, '9999999', 24 * 3_600_000],
    ['not a date in the past', 503, 'Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['not another status', 500, '120', 0],
    ['not what it cannot read', 429, 'soon', 0],
    ['not an absent one', 429, undefined, 0],
  ] as const)('honours %s', (_name, status, header, expected) => {
    expect(retryAfterMs(status, header, now)).toBe(expected);
  });
});
