import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amounts, at, change, eligible, end, half, other, price, sold, start } from '../../test/priced-changes.ts';
import { invoiceOfChange } from './item-change.ts';
import { matchItems } from './item-match.ts';
import type { SoldPrice } from './opened-subscription.ts';
import { type Proration, withProrations } from './proration.ts';
import { renew } from './renewal.ts';
import type { Subscription } from './subscription.ts';

// The examples are those of Stripe's page on prorations: 10.00 and 20.00 a month, half of the period remaining.
describe('a change of items halfway through a period', () => {
  const [ten, twenty] = [price(1_000), price(2_000)];
  const cases: [string, [SoldPrice, number][], [SoldPrice, number][], number[]][] = [
    ['an upgrade credits 5.00 and charges 10.00', [[ten, 1]], [[twenty, 1]], [-500, 1_000]],
    ['a downgrade credits 10.00 and charges 5.00', [[twenty, 1]], [[ten, 1]], [-1_000, 500]],
    ['a second piece credits one and charges two', [[ten, 1]], [[ten, 2]], [-500, 1_000]],
    [
      'an item more charges its remaining time',
      [[ten, 1]],
      [
        [ten, 1],
        [twenty, 1],
      ],
      [1_000],
    ],
    [
      'an item less credits its unused time',
      [
        [ten, 1],
        [twenty, 1],
      ],
      [[ten, 1]],
      [-1_000],
    ],
    [
      'what stays is neither',
      [
        [ten, 1],
        [twenty, 1],
      ],
      [
        [ten, 1],
        [twenty, 3],
      ],
      [-1_000, 3_000],
    ],
    ['a free item charges nothing', [[ten, 1]], [[price(0), 1]], [-500]],
  ];
  it.each(cases)('%s [D14.185]', (_name, from, to, expected) => {
    expect(amounts(change(sold(from), to, half, 'create_prorations').prorations)).toEqual(expected);
  });

  it.each([
    ['create_prorations', null, 2_500],
    ['always_invoice', 500, 2_000],
    ['none', null, 2_000],
  ] as const)(
    'with %s invoices an upgrade at once or with the next period [SUB-10, D14.185]',
    (behavior, now, next) => {
      const changed = change(sold([[ten, 1]]), [[twenty, 1]], half, behavior);
      const made = changed.invoicesNow ? invoiceOfChange(changed, changed.prorations, half) : null;
      expect(made?.invoice.totalCents ?? null).toBe(now);
      const pending = made === null ? changed.prorations : [];
      const renewed = renew(changed.subscription, [eligible], pending, end);
      expect(renewed.invoice.totalCents).toBe(next);
      expect(renewed.subscription.items).toMatchObject([{ invoicedCents: 2_000 }]);
    },
  );

  it('rounds each line down to the cent', () => {
    const [before, after] = [price(1_001), price(3_333)];
    expect(amounts(change(sold([[before, 1]]), [[after, 1]], at(1 / 3), 'create_prorations').prorations)).toEqual([
      -667, 2_222,
    ]);
  });

  it('credits what was invoiced: nothing of what a change without prorations brought', () => {
    const { subscription } = change(sold([[ten, 1]]), [[twenty, 1]], half, 'none');
    const later = change({ ...subscription }, [[price(3_000), 1]], at(0.75), 'create_prorations');
    expect(amounts(later.prorations)).toEqual([-250, 750]);
  });

  it('leaves what comes to less than 50 cents pending', () => {
    const changed = change(sold([[ten, 1]]), [[price(1_090), 1]], half, 'always_invoice');
    expect(amounts(changed.prorations)).toEqual([-500, 545]);
    expect(invoiceOfChange(changed, changed.prorations, half)).toBeNull();
  });

  it('begins a period at another interval, and credits the one before [D14.187]', () => {
    const changed = change(sold([[ten, 1]]), [[price(10_000, eligible, 'year'), 1]], half, 'create_prorations');
    const made = invoiceOfChange(changed, changed.prorations, half);
    expect(made?.invoice).toMatchObject({ totalCents: 9_500, periodStart: half });
    expect(made?.subscription).toMatchObject({
      ...{ anchor: half, interval: 'year', currentPeriodEnd: new Date('2027-04-16T00:00:00.000Z') },
    });
    const back = change(sold([[price(10_000, eligible, 'year'), 1]]), [[ten, 1]], half, 'always_invoice');
    const cheap = invoiceOfChange(back, back.prorations, half);
    expect(cheap?.invoice).toMatchObject({ totalCents: 0, status: 'paid' });
    expect(cheap?.credits).toMatchObject([{ amountCents: 1_000 }]);
  });
});

describe('the two parts of an invoice', () => {
  it('are each reduced by their own credits, and the remaining credit stays [D14.186]', () => {
    const [medical, towel] = [price(2_000), price(3_000, other)];
    const changed = change(sold([[medical, 1]]), [[towel, 1]], half, 'always_invoice');
    const made = invoiceOfChange(changed, changed.prorations, half);
    expect(made?.invoice).toMatchObject({ totalCents: 1_500, eligibleCents: 0 });
    expect(made?.credits).toEqual([]);
    const unused = changed.prorations.filter(({ kind }) => kind === 'credit');
    const renewed = renew(changed.subscription, [eligible], unused, end);
    expect(renewed.invoice).toMatchObject({ totalCents: 2_000, eligibleCents: 2_000 });
    expect(renewed.credits).toMatchObject([{ amountCents: 1_000, eligible: true }]);
  });

  it('leave nothing or what can be charged', () => {
    const changed = change(sold([[price(1_960), 1]]), [[price(0), 1]], start, 'create_prorations');
    expect(amounts(changed.prorations)).toEqual([-1_960]);
    const expensive = { ...changed.subscription, items: sold([[price(2_000), 1]]).items };
    const renewed = renew(expensive, [eligible], changed.prorations, end);
    expect(renewed.invoice).toMatchObject({ totalCents: 50, status: 'open' });
    expect(renewed.credits).toMatchObject([{ amountCents: 1_950 }]);
  });

  const proration = fc.record({
    kind: fc.constantFrom('credit' as const, 'charge' as const),
    amount: fc.integer({ min: 1, max: 5_000 }),
    isEligible: fc.boolean(),
  });
  it('are never below nothing, whatever is pending', () => {
    fc.assert(
      fc.property(fc.array(proration, { maxLength: 12 }), fc.integer({ min: 0, max: 4_000 }), (drawn, unit) => {
        const pending = drawn.map(({ kind, amount, isEligible }): Proration => {
          const amountCents = cents(amount);
          return {
            ...{ id: newId('proration'), subscriptionId: '', subscriptionItemId: '', priceId: '', productId: null },
            ...{
              kind,
              isShare: false,
              quantity: 1,
              wholeCents: amountCents,
              subtotalCents: amountCents,
              discountCents: cents(0),
            },
            ...{
              taxCents: cents(0),
              shippingCents: cents(0),
              amountCents,
              leftCents: amountCents,
              unpaidCents: cents(0),
            },
            ...{ eligible: isEligible, decision: isEligible ? eligible : other },
            ...{ periodStart: start, periodEnd: end, createdAt: start },
          };
        });
        const { invoice, credits } = renew(sold([[price(unit), 1]]), [eligible], pending, end);
        expect(invoice.eligibleCents).toBeGreaterThanOrEqual(0);
        expect(invoice.totalCents).toBeGreaterThanOrEqual(invoice.eligibleCents);
        for (const { prorationId, amountCents } of credits) {
          expect(amountCents).toBeLessThanOrEqual(pending.find(({ id }) => id === prorationId)?.leftCents ?? 0);
        }
        const sum = (of: readonly { amountCents: number }[]) => of.reduce((all, one) => all + one.amountCents, 0);
        const gross = unit + sum(pending.filter(({ kind }) => kind === 'charge'));
        expect(invoice.totalCents).toBe(gross - sum(credits));
        // Credits are left over only where their part has nothing more to pay, or would leave too little to charge.
        const given = sum(pending.filter(({ kind }) => kind === 'credit'));
        if (given === sum(credits) || invoice.totalCents === 50 || gross < 50) return;
        expect(Math.min(invoice.eligibleCents, invoice.totalCents - invoice.eligibleCents)).toBe(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('many changes within a period', () => {
  it('come to what each item costs for its own time, to the cent of each line', () => {
    const offers = [price(0), price(999), price(1_950), price(7_001, other), price(12_345)];
    const step = fc.record({
      part: fc.integer({ min: 1, max: 2_591_999 }),
      offer: fc.integer({ min: 0, max: offers.length - 1 }),
      quantity: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.uniqueArray(step, { selector: ({ part }) => part, maxLength: 8 }), (steps) => {
        const ordered = steps.sort((a, b) => a.part - b.part);
        let subscription = sold([[offers[1] ?? price(0), 1]]);
        let [exact, sum, lines, wholeCents, since] = [0, 999, 0, 999, 0];
        for (const { part, offer, quantity } of ordered) {
          const to = offers[offer] ?? price(0);
          const item = subscription.items[0];
          if (item?.priceId === to.priceId && item.quantity === quantity) continue;
          const made = change(
            subscription,
            [[to, quantity]],
            new Date(start.getTime() + part * 1_000),
            'create_prorations',
          );
          subscription = made.subscription;
          sum += amounts(made.prorations).reduce((all, amount) => all + amount, 0);
          lines += 2;
          exact += (wholeCents * (part - since)) / 2_592_000;
          [wholeCents, since] = [to.unitAmountCents * quantity, part];
        }
        exact += (wholeCents * (2_592_000 - since)) / 2_592_000;
        expect(Math.abs(sum - exact)).toBeLessThanOrEqual(lines + 1e-6);
        expect(sum).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe('what cannot be changed', () => {
  const [ten, twenty] = [price(1_000), price(2_000)];
  it.each(['past_due', 'unpaid', 'paused'] as const)('with prorations while it is %s [D14.186]', (status) => {
    const before: Subscription = { ...sold([[ten, 1]]), status };
    expect(() => change(before, [[twenty, 1]], half, 'always_invoice')).toThrow('subscription_not_updatable');
    expect(change(before, [[twenty, 1]], half, 'none').prorations).toEqual([]);
  });

  it('to a price of another interval beside one that stays', () => {
    const before = sold([[ten, 1]]);
    expect(() =>
      change(
        before,
        [
          [ten, 1],
          [price(1, eligible, 'year'), 1],
        ],
        half,
        'none',
      ),
    ).toThrow();
  });

  it('is not matched if it stays as it is', () => {
    const { items } = sold([
      [ten, 2],
      [twenty, 1],
    ]);
    const asked = [...items].reverse().map(({ priceId }) => ({ priceId, quantity: null }));
    expect(matchItems(items, asked)).toBeUndefined();
  });

  it('is carried twice', () => {
    const { prorations } = change(sold([[ten, 1]]), [[twenty, 1]], half, 'create_prorations');
    const used = prorations.map((one) => ({ ...one, leftCents: one.kind === 'credit' ? cents(200) : one.leftCents }));
    expect(withProrations([], used).credits).toMatchObject([{ amountCents: 200 }]);
  });
});

describe('a period of which something was refunded', () => {
  const whole = { paidCents: cents(1_000), takenBackCents: cents(0) };

  it.each([
    ['nothing is refunded', 0, [-500, 1_000]],
    ['half of it is refunded', 500, [-250, 1_000]],
    ['all of it is refunded', 1_000, [1_000]],
    ['more is refunded than is known to be paid', 1_001, [1_000]],
  ])('credits its unused time of what is kept, where %s [D14.236]', (_what, takenBackCents, expected) => {
    const [ten, twenty] = [price(1_000), price(2_000)];
    const kept = { ...whole, takenBackCents: cents(takenBackCents) };
    const { prorations } = change(sold([[ten, 1]]), [[twenty, 1]], half, 'create_prorations', kept);
    expect(prorations.map((one) => (one.kind === 'credit' ? -one.amountCents : one.amountCents))).toEqual(expected);
  });

  it('credits all of an item that no invoice carries yet: nobody has paid for it [D14.236]', () => {
    const [ten, twenty, thirty] = [price(1_000), price(2_000), price(3_000)];
    const kept = { ...whole, takenBackCents: cents(1_000) };
    const first = change(sold([[ten, 1]]), [[twenty, 1]], half, 'create_prorations', kept);
    const second = change(first.subscription, [[thirty, 1]], half, 'create_prorations', kept, first.prorations);
    expect(second.prorations).toMatchObject([
      { kind: 'credit', amountCents: 1_000 },
      { kind: 'charge', amountCents: 1_500 },
    ]);
  });

  it('never gives more by refunds and credits than was paid, whatever changes when [D14.236]', () => {
    const amounts = fc.integer({ min: 50, max: 9_999_999 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(amounts, fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 4 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0.001, max: 0.999, noNaN: true }),
        amounts,
        (items, refundedPart, time, other) => {
          const before = sold(items.map(([amount, quantity]) => [price(Math.floor(amount / 4)), quantity]));
          const paidCents = cents(before.items.reduce((sum, item) => sum + (item.invoicedCents ?? 0), 0));
          const takenBackCents = cents(Math.round(paidCents * refundedPart));
          const { prorations } = change(before, [[price(other), 1]], at(time), 'create_prorations', {
            paidCents,
            takenBackCents,
          });
          const credits = prorations.filter(({ kind }) => kind === 'credit');
          const credited = credits.reduce((sum, { amountCents }) => sum + amountCents, 0);
          expect(credited + takenBackCents).toBeLessThanOrEqual(paidCents);
        },
      ),
    );
  });
});
