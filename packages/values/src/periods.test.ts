import { describe, expect, it } from 'vitest';
import { firstPeriod, periodStart } from './periods.ts';

const day = (text: string) => new Date(`${text}T10:30:00.000Z`);
const starts = (anchor: string, interval: 'day' | 'week' | 'month' | 'year', intervalCount: number, count: number) =>
  Array.from({ length: count }, (_, n) =>
    periodStart(day(anchor), { interval, intervalCount }, n).toISOString().slice(0, 10),
  );

describe('the beginning of a period', () => {
  it('is counted from the anchor, so that a month end does not drift', () => {
    expect(starts('2026-01-31', 'month', 1, 5)).toEqual([
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
      '2026-05-31',
    ]);
  });

  it('keeps 29 February for leap years', () => {
    expect(starts('2024-02-29', 'year', 1, 5)).toEqual([
      '2024-02-29',
      '2025-02-28',
      '2026-02-28',
      '2027-02-28',
      '2028-02-29',
    ]);
  });

  it('counts intervals of several months across years', () => {
    expect(starts('2026-11-30', 'month', 3, 4)).toEqual(['2026-11-30', '2027-02-28', '2027-05-30', '2027-08-30']);
  });

  it('is the same time of day in UTC, also when clocks change somewhere', () => {
    const monday = new Date('2026-03-27T01:30:00.000Z');
    expect(periodStart(monday, { interval: 'day', intervalCount: 1 }, 4).toISOString()).toBe(
      '2026-03-31T01:30:00.000Z',
    );
    expect(periodStart(monday, { interval: 'week', intervalCount: 2 }, 1).toISOString()).toBe(
      '2026-04-10T01:30:00.000Z',
    );
  });
});

describe('the first period', () => {
  const at = day('2026-01-31');
  const monthly = { interval: 'month', intervalCount: 1 } as const;
  const first = (terms: { trialEnd?: Date; trialDays?: number }) =>
    firstPeriod({ at, rhythm: monthly, trialEnd: terms.trialEnd ?? null, trialDays: terms.trialDays ?? 0 });

  it('is one period of the rhythm', () => {
    expect(first({})).toEqual({ trialEnd: null, end: day('2026-02-28') });
  });

  it('is the trial, whose named end goes before a count of days', () => {
    expect(first({ trialDays: 14 })).toEqual({ trialEnd: day('2026-02-14'), end: day('2026-02-14') });
    expect(first({ trialDays: 14, trialEnd: day('2026-02-03') })).toMatchObject({ end: day('2026-02-03') });
  });

  it('is no trial that is over when the subscription begins', () => {
    expect(first({ trialEnd: day('2026-01-30') })).toEqual({ trialEnd: null, end: day('2026-02-28') });
  });
});
