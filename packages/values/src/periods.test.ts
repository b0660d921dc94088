import { describe, expect, it } from 'vitest';
import { firstPeriod, type Interval, periodEnd, periodStart } from './periods.ts';

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

// docs.stripe.com/billing/subscriptions/billing-cycle: a month without the day ends on its last day, and the anchor's day returns afterwards. The first four anchors are its own.
describe('the dates of renewals', () => {
  const renewals: [string, Interval, number, string[]][] = [
    ['2026-09-02', 'month', 1, ['2026-10-02', '2026-11-02', '2026-12-02', '2027-01-02', '2027-02-02']],
    ['2024-01-31', 'month', 1, ['2024-02-29', '2024-03-31', '2024-04-30']],
    // Fridays.
    ['2022-06-03', 'week', 1, ['2022-06-10', '2022-06-17', '2022-06-24', '2022-07-01', '2022-07-08']],
    ['2026-01-31', 'month', 1, ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30', '2026-07-31']],
    ['2024-01-30', 'month', 1, ['2024-02-29', '2024-03-30', '2024-04-30']],
    ['2023-12-31', 'month', 2, ['2024-02-29', '2024-04-30', '2024-06-30', '2024-08-31']],
    ['2026-08-31', 'month', 3, ['2026-11-30', '2027-02-28', '2027-05-31', '2027-08-31']],
    ['2026-08-31', 'month', 6, ['2027-02-28', '2027-08-31', '2028-02-29']],
    ['2024-02-29', 'month', 12, ['2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29']],
    ['2024-02-29', 'year', 1, ['2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29']],
    ['2096-02-29', 'year', 4, ['2100-02-28', '2104-02-29']],
    ['2026-12-15', 'month', 1, ['2027-01-15', '2027-02-15']],
    ['2026-02-26', 'week', 1, ['2026-03-05', '2026-03-12']],
    ['2024-02-22', 'week', 2, ['2024-03-07', '2024-03-21']],
    ['2024-02-28', 'day', 1, ['2024-02-29', '2024-03-01']],
    ['2026-10-30', 'day', 3, ['2026-11-02', '2026-11-05']],
    // Across the days on which clocks change in America and in Europe.
    ['2026-03-07', 'day', 1, ['2026-03-08', '2026-03-09']],
    ['2026-03-28', 'day', 1, ['2026-03-29', '2026-03-30']],
    ['2026-10-24', 'week', 1, ['2026-10-31', '2026-11-07']],
    ['2026-10-15', 'month', 1, ['2026-11-15', '2026-12-15']],
    ['2024-01-31', 'week', 5, ['2024-03-06', '2024-04-10']],
    ['2026-12-31', 'day', 31, ['2027-01-31', '2027-03-03']],
    ['2026-03-31', 'year', 1, ['2027-03-31', '2028-03-31']],
  ];

  it.each(renewals)('of an anchor on %s, each %s × %d', (anchor, interval, intervalCount, expected) => {
    const found: string[] = [];
    let start = day(anchor);
    for (const _ of expected) {
      start = periodEnd(day(anchor), { interval, intervalCount }, start);
      found.push(start.toISOString());
    }
    expect(found).toEqual(expected.map((date) => day(date).toISOString()));
  });

  it('begin at the anchor when what goes before is a trial that ends there', () => {
    const monthly = { interval: 'month', intervalCount: 1 } as const;
    expect(periodEnd(day('2026-01-31'), monthly, day('2026-01-31'))).toEqual(day('2026-02-28'));
    expect(periodEnd(day('2026-01-31'), monthly, day('2026-01-20'))).toEqual(day('2026-01-31'));
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
