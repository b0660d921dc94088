import { cents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amounts, at, change, end, half, other, price, sold, start } from '../../test/priced-changes.ts';
import type { StoredDiscount } from './discounts.ts';
import { periodTotals } from './finalized-invoice.ts';
import { invoiceOfChange } from './item-change.ts';
import type { SoldPrice } from './opened-subscription.ts';
import type { Proration } from './proration.ts';
import { renew } from './renewal.ts';
import type { Subscription } from './subscription.ts';

type Items = readonly [SoldPrice, number][];
const amountOff = (amount: number, prices: readonly SoldPrice[] = [], duration = 'forever'): StoredDiscount => ({
  coupon: { duration, amountOffCents: String(amount), appliesTo: { prices: prices.map(({ priceId }) => priceId) } },
});
const sum = (of: readonly number[]) => of.reduce((all, one) => all + one, 0);
const invoiced = ({ items }: Subscription) => items.map(({ invoicedCents }) => Number(invoicedCents));

const [five, ten, another, thirty] = [price(500), price(1_000), price(1_000), price(3_000)];
const [A, B]: [SoldPrice, SoldPrice] = [ten, another];

describe('10.00 off all items, and a change halfway through a period', () => {
  const off = [amountOff(1_000)];
  // The items before and after, what each line comes to, and what the period comes to: half of it before and half of it after.
  const cases: [string, Items, Items, number[], number][] = [
    [
      'one of two is removed: the other one is free',
      [
        [A, 1],
        [B, 1],
      ],
      [[A, 1]],
      [-250, -250],
      500,
    ],
    [
      'one becomes cheaper: the other has more of the discount',
      [
        [thirty, 1],
        [B, 1],
      ],
      [
        [ten, 1],
        [B, 1],
      ],
      [-1_125, -125, 250],
      2_000,
    ],
    [
      'one becomes costlier: the other has less of the discount',
      [
        [ten, 1],
        [B, 1],
      ],
      [
        [thirty, 1],
        [B, 1],
      ],
      [-250, 1_125, 125],
      2_000,
    ],
    [
      'one more is bought: the other has less of the discount',
      [[A, 1]],
      [
        [A, 1],
        [B, 1],
      ],
      [250, 250],
      500,
    ],
    [
      'a quantity grows',
      [
        [A, 1],
        [B, 1],
      ],
      [
        [A, 3],
        [B, 1],
      ],
      [-250, 1_125, 125],
      2_000,
    ],
    [
      'one of three is removed',
      [
        [thirty, 1],
        [A, 1],
        [B, 1],
      ],
      [
        [A, 1],
        [B, 1],
      ],
      [-150, -150, -1_200],
      2_500,
    ],
    [
      'the discount was more than both',
      [
        [five, 1],
        [price(500), 1],
      ],
      [
        [five, 1],
        [thirty, 1],
      ],
      [178, 1_072],
      1_250,
    ],
  ];
  it.each(cases)('%s [D14.295]', (_name, from, to, expected, period) => {
    const before = sold(from, off);
    const { prorations } = change(before, to, half, 'create_prorations');
    expect([...amounts(prorations)].sort()).toEqual([...expected].sort());
    expect(Math.abs(sum(invoiced(before)) + sum(amounts(prorations)) - period)).toBeLessThanOrEqual(1);
  });
});

describe('a change of items moves no share', () => {
  const both: Items = [
    [A, 1],
    [B, 1],
  ];
  const costlier: Items = [
    [A, 1],
    [thirty, 1],
  ];
  it.each([
    ['of a percentage', [{ coupon: { duration: 'forever', percentOffBasisPoints: 3_333 } }]],
    ['of a coupon that holds once: it is for a whole period', [amountOff(1_000, [], 'once')]],
    ['of a coupon for the changed item alone', [amountOff(500, [B, thirty])]],
  ])('%s [D14.185, D14.295]', (_what, discounts) => {
    const before = sold(both, discounts);
    const { prorations, subscription } = change(before, costlier, half, 'create_prorations');
    expect(prorations.map(({ subscriptionItemId }) => subscriptionItemId)).not.toContain(before.items[0]?.id);
    expect(subscription.items[0]).toEqual(before.items[0]);
  });

  it('with none; what a later change takes off is credited, and nothing is charged of it [D14.295]', () => {
    const { subscription, prorations } = change(sold(both, [amountOff(1_000)]), costlier, half, 'none');
    expect([prorations, invoiced(subscription)]).toEqual([[], [500, 500]]);
    const alone = change(subscription, [[A, 1]], half, 'create_prorations');
    expect(amounts(alone.prorations)).toEqual([-250, -250]);
    const more = change(subscription, [...costlier, [price(6_000), 1]], half, 'create_prorations');
    expect(more.prorations).toHaveLength(1);
  });

  it('of a change with none; a later one charges up to what the items then cost [D14.295]', () => {
    const { subscription } = change(sold(both, [amountOff(1_000)]), [[A, 1]], half, 'none');
    const more = change(subscription, costlier, half, 'create_prorations');
    expect([amounts(more.prorations), invoiced(more.subscription)]).toEqual([
      [125, 1_125],
      [750, 2_250],
    ]);
  });

  it('of an item that was invoiced with another coupon as well: it costs no more than that', () => {
    const before = sold(both, [amountOff(600), amountOff(400, [], 'once')]);
    const { subscription, prorations } = change(before, costlier, half, 'create_prorations');
    expect(invoiced(subscription)).toEqual([500, 2_550]);
    expect(amounts(prorations)).toEqual([-250, 1_275]);
  });
});

describe('an item that was invoiced at more than its price before the change', () => {
  const off = [amountOff(1_000)];
  const [costlier, cheaper] = [price(1_100), price(900)];
  const of = (first: number, second: SoldPrice): Items => [
    [A, first],
    [second, 1],
  ];
  const later = (before: Subscription, to: Items) => {
    const { prorations, subscription } = change(before, to, half, 'create_prorations');
    const [item] = before.items;
    return {
      shares: amounts(prorations.filter(({ subscriptionItemId }) => subscriptionItemId === item?.id)),
      invoiced: invoiced(subscription)[0],
    };
  };

  it('after a change with none: a share of the discount that shrinks credits nothing [D14.185, D14.295]', () => {
    const { subscription } = change(sold(of(10, B), off), of(1, B), half, 'none');
    expect(invoiced(subscription)).toEqual([9_091, 909]);
    const two: Items = [
      [A, 1],
      [B, 2],
    ];
    expect(later(subscription, two)).toEqual({ shares: [], invoiced: 9_091 });
  });

  it.each([
    ['stays: nothing', price(1_000), [], 1_000],
    ['shrinks: nothing', costlier, [], 1_000],
    // 10.00 of 19.00 is 5.26 of the discount instead of 5.00.
    ['grows: a credit of that', cheaper, [-13], 974],
  ])('before its coupon was given, and its share %s [D14.116, D14.295]', (_what, second, shares, left) => {
    const given = { ...sold(of(1, B)), discounts: off };
    expect(later(given, of(1, second))).toEqual({ shares, invoiced: left });
  });

  it('beside a one-time line of its session: a share that shrinks credits nothing [D14.295]', () => {
    const before = sold(of(1, B), off);
    const items = before.items.map((item) => ({ ...item, invoicedCents: cents(750) }));
    expect(later({ ...before, items }, of(1, costlier))).toEqual({ shares: [], invoiced: 750 });
  });

  it('costs more above what it was invoiced at, and no more than its share moved [D14.295]', () => {
    const before = sold(of(1, B), off);
    const items = before.items.map((item) => ({ ...item, invoicedCents: cents(600) }));
    // 7.50 beside 30.00: of the 2.50 that its share shrinks, the 1.50 above 6.00.
    expect(later({ ...before, items }, of(1, thirty))).toEqual({ shares: [75], invoiced: 750 });
  });
});

describe('a moved share of a discount', () => {
  const off = [amountOff(1_000)];
  const both: Items = [
    [A, 1],
    [B, 1],
  ];

  it('is credited of what was kept, and no refund is charged again [D14.236, D14.295]', () => {
    const refunded = { paidCents: cents(1_000), takenBackCents: cents(500) };
    const less = change(sold(both, off), [[A, 1]], half, 'create_prorations', refunded);
    expect(amounts(less.prorations)).toEqual([-125, -125]);
    const all = { paidCents: cents(1_000), takenBackCents: cents(1_000) };
    const more = change(
      sold(both, off),
      [
        [A, 1],
        [thirty, 1],
      ],
      half,
      'create_prorations',
      all,
    );
    // Of the item that stays, the 2.50 that it costs more; not the 7.50 that it costs.
    expect(amounts(more.prorations)).toEqual([125, 1_125]);
    // It was refunded, and what it costs more is not paid yet.
    const gone = change(more.subscription, [[thirty, 1]], half, 'create_prorations', all, more.prorations);
    expect(gone.prorations.filter(({ kind }) => kind === 'credit').map(({ amountCents }) => amountCents)).toEqual([
      125, 125,
    ]);
  });

  it('that moves up and back after a refund comes to nothing: nobody has paid for what it was charged [D14.236, D14.295]', () => {
    const all = { paidCents: cents(1_000), takenBackCents: cents(1_000) };
    let subscription = sold(both, off);
    const [stays] = subscription.items;
    let pending: Proration[] = [];
    const shares = [thirty, ten, thirty, price(1_500), price(1_000), price(1_000)].map((second) => {
      const to: Items = [
        [A, 1],
        [second, 1],
      ];
      const made = change(subscription, to, half, 'create_prorations', all, pending);
      ({ subscription } = made);
      pending = [...pending, ...made.prorations];
      return amounts(made.prorations.filter(({ subscriptionItemId }) => subscriptionItemId === stays?.id));
    });
    // Up by 2.50, back, up again, back by 1.50 and 1.00, and no further: its 5.00 were refunded.
    expect(shares).toEqual([[125], [-125], [125], [-75], [-50], []]);
    const alone = change(subscription, [[A, 1]], half, 'create_prorations', all, pending);
    expect(amounts(alone.prorations.filter(({ subscriptionItemId }) => subscriptionItemId === stays?.id))).toEqual([]);
  });

  it('stays on its card: where an item’s eligibility is another one by now, it costs no more within the period [D14.295]', () => {
    const before = sold(both, off);
    const [left = A, right = B] = [
      { ...A, eligibility: other },
      { ...thirty, eligibility: other },
    ];
    const { prorations, subscription } = change(
      before,
      [
        [left, 1],
        [right, 1],
      ],
      half,
      'create_prorations',
    );
    expect(prorations.map(({ kind, eligible, amountCents }) => [kind, eligible, amountCents])).toEqual([
      ['credit', true, 250],
      ['charge', false, 1_125],
    ]);
    expect(invoiced(subscription)).toEqual([500, 2_250]);
  });

  it('is on the invoice of the change, and the next period is whole again', () => {
    const [towel, medical] = [price(3_000, other), price(1_000)];
    const before = sold(
      [
        [medical, 1],
        [towel, 1],
      ],
      off,
    );
    const changed = change(
      before,
      [
        [medical, 1],
        [price(9_000, other), 1],
      ],
      half,
      'always_invoice',
    );
    const made = invoiceOfChange(changed, changed.prorations, half);
    // 7.50 and 22.50 of 40.00, 9.00 and 81.00 of 100.00.
    expect(made?.invoice).toMatchObject({ totalCents: 75 + 4_050 - 1_125, eligibleCents: 75 });
    const eligibility = [medical, towel].map((one) => one.eligibility);
    const { invoice } = renew(made?.subscription ?? before, eligibility, [], end);
    expect(invoice).toMatchObject({ totalCents: 9_000, eligibleCents: 900 });
  });
});

describe('several changes of several items', () => {
  const offers = [price(0), price(499, other), price(1_000), price(1_950), price(7_001, other), price(12_345)];
  const items = fc.uniqueArray(
    fc.record({ offer: fc.integer({ min: 0, max: offers.length - 1 }), quantity: fc.integer({ min: 1, max: 4 }) }),
    { selector: ({ offer }) => offer, minLength: 1, maxLength: 3 },
  );
  const of = (drawn: readonly { offer: number; quantity: number }[]): Items =>
    drawn.map(({ offer, quantity }) => [offers[offer] ?? ten, quantity]);
  const steps = fc.uniqueArray(fc.record({ part: fc.integer({ min: 1, max: 999 }), items }), {
    selector: ({ part }) => part,
    maxLength: 6,
  });
  const discount = fc.record({ amount: fc.integer({ min: 1, max: 9_000 }), restricted: fc.boolean() });

  it('come to what each state costs for its own time, less the whole discount, to the cent of each line, on each card [D14.185, D14.295]', () => {
    fc.assert(
      fc.property(items, steps, discount, (first, drawn, { amount, restricted }) => {
        const appliesTo = restricted ? offers.slice(2, 5) : offers;
        const off = [amountOff(amount, restricted ? appliesTo : [])];
        const cost = (state: Items) => {
          const of = (some: Items) => sum(some.map(([{ unitAmountCents }, quantity]) => unitAmountCents * quantity));
          return of(state) - Math.min(amount, of(state.filter(([one]) => appliesTo.includes(one))));
        };
        const eligibleOf = (subscription: Subscription) => {
          const totals = periodTotals(subscription.items, off);
          const isOther = ({ priceId }: { priceId: string }) =>
            offers.find((one) => one.priceId === priceId)?.eligibility === other;
          return sum(subscription.items.map((item, index) => (isOther(item) ? 0 : Number(totals[index]))));
        };
        let state = of(first);
        // Nobody pays a first invoice under 50 cents, so its items are invoiced at nothing (14.337).
        fc.pre(cost(state) === 0 || cost(state) >= 50);
        let subscription = sold(state, off);
        let pending: Proration[] = [];
        let [since, exact, exactEligible, lines] = [0, 0, 0, 0];
        const paid = [sum(invoiced(subscription)), eligibleOf(subscription)] as const;
        const until = (part: number) => {
          exact += (cost(state) * (part - since)) / 1_000;
          exactEligible += (eligibleOf(subscription) * (part - since)) / 1_000;
          since = part;
        };
        for (const { part, items: to } of drawn.sort((a, b) => a.part - b.part)) {
          const wanted = of(to);
          const isSame = (list: Items) =>
            list.every(([one, quantity]) => state.some((own) => own[0] === one && own[1] === quantity));
          if (wanted.length === state.length && isSame(wanted)) continue;
          until(part);
          // A credit of each item before, and a charge of each one after; what comes to less than a cent has none.
          lines += state.length + wanted.length;
          const made = change(subscription, wanted, at(part / 1_000), 'create_prorations', undefined, pending);
          ({ subscription } = made);
          pending = [...pending, ...made.prorations];
          state = wanted;
        }
        until(1_000);
        expect(Math.abs(paid[0] + sum(amounts(pending)) - exact)).toBeLessThanOrEqual(lines + 1e-6);
        const eligiblePart = pending.filter(({ eligible }) => eligible);
        const difference = paid[1] + sum(amounts(eligiblePart)) - exactEligible;
        expect(Math.abs(difference)).toBeLessThanOrEqual(lines + 1e-6);
        expect(invoiced(subscription)).toEqual(periodTotals(subscription.items, off));
        expect(pending.every(({ periodStart }) => periodStart > start)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
