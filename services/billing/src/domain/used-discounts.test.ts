import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { change, eligible, end, half, price, sold, start } from '../../test/priced-changes.ts';
import type { StoredDiscount } from './discounts.ts';
import { nothingTakenBack } from './kept-share.ts';
import { resumeSubscription } from './pause.ts';
import { renew } from './renewal.ts';
import type { Subscription } from './subscription.ts';

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
