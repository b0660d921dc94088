import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  amounts as amountsOf,
  change,
  eligible,
  end,
  half,
  opened,
  price,
  sold,
  start,
} from '../../test/priced-changes.ts';
import type { StoredDiscount } from './discounts.ts';
import { nothingTakenBack } from './kept-share.ts';
import { resumeSubscription } from './pause.ts';
import { renew } from './renewal.ts';
import type { Subscription } from './subscription.ts';
import { changeSubscription } from './subscription-change.ts';

const times = { startMs: String(start.getTime()) };
const percent = (percentOff: number, duration: string): StoredDiscount => ({
  ...{ coupon: { duration, percentOffBasisPoints: percentOff * 100 } },
  ...times,
});
const amount = (amountOff: number, duration: string): StoredDiscount => ({
  ...{ coupon: { duration, amountOffCents: String(amountOff) } },
  ...times,
});
const of = (amounts: readonly number[], discounts: readonly StoredDiscount[]): Subscription => ({
  ...sold(amounts.map((one) => [price(one), 1])),
  discounts,
});
const renewed = (subscription: Subscription) =>
  renew(
    subscription,
    subscription.items.map(() => eligible),
    [],
    end,
  );
const endsOf = ({ discounts }: Subscription) =>
  (discounts as readonly StoredDiscount[]).map(({ endMs }) => (endMs === undefined ? null : Number(endMs)));
const used = end.getTime();

describe('a coupon that holds once beside another discount', () => {
  it.each([
    ['is not used by an invoice that is free without it', [1_000], 1_000, 0, null],
    ['is not used by an invoice that is too small without it', [1_040], 1_000, 0, null],
    ['is used by an invoice that can be charged without it', [1_050], 1_000, 0, used],
    ['is used by an invoice that it leaves something of', [3_000], 1_000, 500, used],
  ])('%s [D14.92]', (_what, amounts, amountOff, total, endMs) => {
    const { invoice, subscription } = renewed(of(amounts, [percent(50, 'once'), amount(amountOff, 'forever')]));
    expect([invoice.totalCents, endsOf(subscription)]).toEqual([total, [endMs, null]]);
  });

  it.each([
    ['is not used by the rest of a period that is too small to charge without it', 1_098, null],
    ['is used by the rest of a period that can be charged without it', 1_100, half.getTime()],
  ])('%s [D14.92, D14.117]', (_what, unitAmount, endMs) => {
    const paused = of([unitAmount], [percent(50, 'once'), amount(1_000, 'forever')]);
    const before = { ...paused, status: 'paused', currentPeriodEnd: new Date(half.getTime() - 1) } as const;
    const { invoice, subscription } = resumeSubscription(
      before,
      { kept: nothingTakenBack, decisions: [eligible], pending: [] },
      true,
      half,
    );
    expect([invoice?.totalCents, endsOf(subscription)]).toEqual([0, [endMs, null]]);
  });

  it('is used by an invoice that has a charge of a change [D14.92, D14.185]', () => {
    const before = of([1_000], [percent(50, 'once'), amount(1_000, 'forever')]);
    const { subscription, prorations } = change(before, [[price(2_000), 1]], half, 'create_prorations');
    const made = renew(subscription, [eligible], prorations, end);
    expect(endsOf(made.subscription)).toEqual([used, null]);
  });

  it('is used if and only if the same renewal can be charged without it [D14.92]', () => {
    const discount = (duration: string) =>
      fc.oneof(
        fc.integer({ min: 10, max: 100 }).map((one) => percent(one, duration)),
        fc.integer({ min: 1, max: 3_000 }).map((one) => amount(one, duration)),
      );
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 3 }),
        discount('once'),
        discount('forever'),
        fc.boolean(),
        (amounts, once, forever, isFirst) => {
          const both = isFirst ? [once, forever] : [forever, once];
          const { subscription } = renewed(of(amounts, both));
          const without = renewed(of(amounts, [forever]));
          const isUsed = endsOf(subscription)[both.indexOf(once)] !== null;
          expect(isUsed).toBe(without.invoice.totalCents >= 50);
        },
      ),
    );
  });
});

describe('a coupon that repeats', () => {
  const months = (durationInMonths: number): StoredDiscount => ({
    coupon: { duration: 'repeating', durationInMonths, percentOffBasisPoints: 5_000 },
  });
  /** What the next periods cost, and when the coupon ends after each of them. */
  const periods = (before: Subscription, count: number) => {
    let subscription = before;
    return Array.from({ length: count }, () => {
      const next = renew(subscription, [eligible], [], subscription.currentPeriodEnd);
      subscription = next.subscription;
      const [endMs] = endsOf(subscription);
      return [next.invoice.totalCents, endMs === null ? null : new Date(endMs ?? 0).toISOString().slice(0, 10)];
    });
  };
  const given = (before: Subscription, at: Date, durationInMonths: number) =>
    changeSubscription(before, { discounts: [months(durationInMonths)] }, at);

  it('begins its months with the first period after a trial, however long that is and however often it is moved [D14.92, D14.361]', () => {
    const subscription = opened([[price(1_000), 1]], [months(1)], 30);
    expect([subscription.status, endsOf(subscription)]).toEqual(['trialing', [null]]);
    const expected = (first: string) => [
      [500, first],
      [1_000, first],
    ];
    expect(periods(subscription, 2)).toEqual(expected('2026-06-01'));
    const moved = changeSubscription(subscription, { trialEnd: new Date('2026-08-15') }, half);
    expect(periods(moved, 2)).toEqual(expected('2026-09-15'));
  });

  it('begins its months with the sale if that is charged [D14.92]', () => {
    const before = sold([[price(1_000), 1]], [months(3)]);
    expect(endsOf(before)).toEqual([Date.parse('2026-07-01')]);
    expect(periods(before, 3).map(([total]) => total)).toEqual([500, 500, 1_000]);
  });

  it('that is given within a period begins its months with the next one [D14.92, D14.361]', () => {
    const before = given(sold([[price(1_000), 1]]), half, 2);
    expect(endsOf(before)).toEqual([null]);
    expect(periods(before, 3)).toEqual([500, 500, 1_000].map((total) => [total, '2026-07-01']));
  });

  it('is taken off a whole year, however few its months are and whenever it is given [D14.92, D14.361]', () => {
    const before = given(sold([[price(12_000, eligible, 'year'), 1]]), half, 1);
    expect(periods(before, 2)).toEqual([6_000, 12_000].map((total) => [total, '2027-05-01']));
  });

  it('begins no months with a period of which it takes nothing off [D14.361]', () => {
    const free = sold([[price(0), 1]], [months(1)]);
    expect([endsOf(free), periods(free, 1)]).toEqual([[null], [[0, null]]]);
  });

  it('that has ended since the period began is taken off no change within it, and what was invoiced is credited [D14.185, D14.361]', () => {
    const yearly = price(12_000, eligible, 'year');
    const before = sold([[yearly, 1]], [months(3)]);
    expect(before.items).toMatchObject([{ invoicedCents: 6_000 }]);
    const october = new Date(start.getTime() + (Date.parse('2027-04-01') - start.getTime()) / 2);
    const after = change(before, [[yearly, 2]], october, 'create_prorations');
    // Half a year of 60.00 for one that the coupon was taken off, and of 240.00 for two.
    expect(amountsOf(after.prorations)).toEqual([-3_000, 12_000]);
    const may = change(before, [[yearly, 2]], start, 'create_prorations');
    expect(amountsOf(may.prorations)).toEqual([-6_000, 12_000]);
  });

  it('stays active in a month that is shorter than the one before: each of its periods is whole [D14.361]', () => {
    const last = new Date('2027-01-31T00:00:00.000Z');
    const before = { ...sold([[price(1_000), 1]]), anchor: last, currentPeriodEnd: last };
    expect(periods(given(before, half, 2), 3).map(([total]) => total)).toEqual([500, 500, 1_000]);
    const february = { ...before, currentPeriodEnd: new Date('2027-02-28T00:00:00.000Z') };
    expect(periods(given(february, half, 3), 4).map(([total]) => total)).toEqual([500, 500, 500, 1_000]);
  });
});
