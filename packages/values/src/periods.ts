export type Interval = 'day' | 'week' | 'month' | 'year';

/** How often a subscription renews. */
export interface Rhythm {
  readonly interval: Interval;
  readonly intervalCount: number;
}

/**
 * The beginning of the n-th period (0 is the anchor itself), in UTC. It is counted from the anchor and not from the period before, so that an
 * anchor on the 31st gives 31 January, 28 February, 31 March (decisions 13).
 */
export function periodStart(anchor: Date, { interval, intervalCount }: Rhythm, n: number): Date {
  const steps = n * intervalCount;
  switch (interval) {
    case 'day':
      return addDays(anchor, steps);
    case 'week':
      return addDays(anchor, steps * 7);
    case 'month':
      return addMonths(anchor, steps);
    case 'year':
      return addMonths(anchor, steps * 12);
  }
}

/**
 * The end of the period that begins at `start`: the first boundary after it. `start` is a boundary itself, or the end of a trial that was moved. The
 * number of the period is estimated from the longest possible period and then counted up, so that the loop is short at any distance from the anchor.
 */
export function periodEnd(anchor: Date, rhythm: Rhythm, start: Date): Date {
  let n = Math.max(0, Math.floor((start.getTime() - anchor.getTime()) / longestPeriodMs(rhythm)));
  let end = periodStart(anchor, rhythm, n);
  while (end <= start) {
    n += 1;
    end = periodStart(anchor, rhythm, n);
  }
  return end;
}

/** The period that holds a moment, which is not before the anchor. */
export function periodAround(anchor: Date, rhythm: Rhythm, moment: Date): { readonly start: Date; readonly end: Date } {
  let n = Math.max(0, Math.floor((moment.getTime() - anchor.getTime()) / longestPeriodMs(rhythm)));
  let start = periodStart(anchor, rhythm, n);
  for (;;) {
    n += 1;
    const end = periodStart(anchor, rhythm, n);
    if (end > moment) return { start, end };
    start = end;
  }
}

// An estimate that is too low costs steps; one that is too high would skip a period. Over 200 years the average month is shorter than 31 days by a
// sixtieth, which is forty steps.
function longestPeriodMs({ interval, intervalCount }: Rhythm): number {
  const days = { day: 1, week: 7, month: 31, year: 366 }[interval];
  return days * intervalCount * 86_400_000;
}

/** What decides the first period of a subscription. A trial that is over by `at` is none. */
export interface FirstPeriodTerms {
  readonly at: Date;
  readonly rhythm: Rhythm;
  readonly trialEnd: Date | null;
  readonly trialDays: number;
}

/** The first period: the trial if there is one, else one period of the rhythm. `trialEnd` is null without a trial. */
export function firstPeriod({ at, rhythm, trialEnd, trialDays }: FirstPeriodTerms): {
  readonly trialEnd: Date | null;
  readonly end: Date;
} {
  const asked = trialEnd ?? (trialDays > 0 ? addDays(at, trialDays) : null);
  if (asked !== null && asked > at) return { trialEnd: asked, end: asked };
  return { trialEnd: null, end: periodStart(at, rhythm, 1) };
}

function addDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * 86_400_000);
}

function addMonths(date: Date, months: number): Date {
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const moved = new Date(date);
  moved.setUTCFullYear(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), lastDay));
  return moved;
}
