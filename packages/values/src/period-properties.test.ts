import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Interval, periodEnd, periodStart, type Rhythm } from './periods.ts';

const intervals: readonly Interval[] = ['day', 'week', 'month', 'year'];
const rhythms = fc.record({
  interval: fc.constantFrom(...intervals),
  intervalCount: fc.integer({ min: 1, max: 12 }),
});
const anchors = fc.date({
  min: new Date('2000-01-01T00:00:00.000Z'),
  max: new Date('2100-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});
const years200 = 200 * 366 * 86_400_000;

/** The boundaries after the anchor, for 200 years at most. */
function boundaries(anchor: Date, rhythm: Rhythm): Date[] {
  const found = [anchor];
  for (;;) {
    const last = found.at(-1) ?? anchor;
    if (last.getTime() - anchor.getTime() > years200 || found.length > 2_500) return found;
    found.push(periodEnd(anchor, rhythm, last));
  }
}

describe('periods over 200 years', () => {
  it('follow each other without a gap, and each is the one that its number names', () => {
    fc.assert(
      fc.property(anchors, rhythms, (anchor, rhythm) => {
        for (const [n, start] of boundaries(anchor, rhythm).entries()) {
          expect(start).toEqual(periodStart(anchor, rhythm, n));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keep the time of day of the anchor and, where the month has it, its day', () => {
    fc.assert(
      fc.property(anchors, rhythms, fc.integer({ min: 0, max: 2_400 }), (anchor, rhythm, n) => {
        const start = periodStart(anchor, rhythm, n);
        expect(start.toISOString().slice(-14)).toBe(anchor.toISOString().slice(-14));
        if (rhythm.interval !== 'month' && rhythm.interval !== 'year') return;
        const lastDay = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate();
        expect(start.getUTCDate()).toBe(Math.min(anchor.getUTCDate(), lastDay));
        const months =
          (start.getUTCFullYear() - anchor.getUTCFullYear()) * 12 + start.getUTCMonth() - anchor.getUTCMonth();
        expect(months).toBe(n * rhythm.intervalCount * (rhythm.interval === 'year' ? 12 : 1));
      }),
      { numRuns: 1_000 },
    );
  });

  it('find the boundary after any moment, also one inside a period', () => {
    fc.assert(
      fc.property(anchors, rhythms, fc.integer({ min: 0, max: years200 }), (anchor, rhythm, afterMs) => {
        const moment = new Date(anchor.getTime() + afterMs);
        const end = periodEnd(anchor, rhythm, moment);
        expect(end.getTime()).toBeGreaterThan(moment.getTime());
        const before = boundaryBefore(anchor, rhythm, end);
        expect(before.getTime()).toBeLessThanOrEqual(moment.getTime());
      }),
      { numRuns: 1_000 },
    );
  });
});

// The number of the boundary by bisection, independently of how periodEnd counts.
function boundaryBefore(anchor: Date, rhythm: Rhythm, end: Date): Date {
  let [low, high] = [0, 80_000];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (periodStart(anchor, rhythm, middle) < end) low = middle + 1;
    else high = middle;
  }
  return periodStart(anchor, rhythm, low - 1);
}
