import { cents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CarriedProrations, earlierCredits, timesOfCharge, unusedOfTimes } from './paid-time.ts';

const may = { start: new Date('2026-05-01'), end: new Date('2026-06-01') };
const half = new Date('2026-05-16T12:00:00.000Z');
const rest = { start: half, end: may.end };

const carried = (
  part: 'eligible' | 'other',
  charged: number,
  credited: number,
  time: CarriedProrations['time'] = null,
  invoiceId = 'fin_1',
): CarriedProrations => ({
  ...{ invoiceId, eligible: part === 'eligible', time },
  ...{ chargedCents: cents(charged), creditedCents: cents(credited) },
});

/** What is unused at half of May of a charge for the invoice of May. */
const unused = (
  what: 'health' | 'beside' | 'alone',
  amount: number,
  prorations: readonly CarriedProrations[],
  left = amount,
) => {
  const charge = {
    ...{ leg: what === 'health' ? ('health' as const) : ('other' as const), isBesideHealth: what === 'beside' },
    ...{ amountCents: cents(amount), leftCents: cents(left), periodStart: may.start, periodEnd: may.end },
  };
  return unusedOfTimes(timesOfCharge(charge, prorations), half);
};

describe('what is unused of a charge for an invoice', () => {
  // 20.00 a month and 10.00 less 5.00 for the month before on the health card; 30.00 a month on the other one.
  const upgraded = [carried('eligible', 1_000, 500)];
  // 20.00 a month and 10.00 less 15.00 for the month before, from 30.00.
  const downgraded = [carried('eligible', 1_000, 1_500)];

  it.each([
    ['of a period without changes', 'health', 2_000, [], 1_000],
    ['without a change of an earlier period, on the card that paid it', 'health', 2_500, upgraded, 1_000],
    ['without a change of an earlier period, on the card beside it', 'beside', 3_000, upgraded, 1_500],
    ['without a change of an earlier period, on the card that paid all', 'alone', 5_500, upgraded, 2_500],
    ['with the credit of an earlier period that paid a part', 'health', 1_500, downgraded, 1_000],
    ['without the credit that another card had', 'beside', 3_000, downgraded, 1_500],
    ['with that credit, on the card that paid the rest of all', 'alone', 4_500, downgraded, 2_500],
    [
      'with a credit for one card and without a charge of the other one',
      'alone',
      4_500,
      [carried('eligible', 0, 500), carried('other', 1_000, 0)],
      2_000,
    ],
    ['with the time of a change within it', 'health', 500, [carried('eligible', 1_000, 500, rest)], 500],
    [
      'with the time of a change that waited for another one',
      'health',
      800,
      [carried('eligible', 400, 0, { start: may.start, end: may.end }), carried('eligible', 400, 0, rest)],
      600,
    ],
    [
      'of nothing less than zero',
      'health',
      500,
      [carried('eligible', 1_000, 1_500, rest), carried('eligible', 1_000, 0)],
      0,
    ],
  ] as const)('is %s [D14.3, D14.354]', (_what, card, amount, prorations, expected) => {
    expect(unused(card, amount, prorations)).toBe(expected);
  });

  it('is less in proportion to what was refunded or disputed of it [D14.236, D14.354]', () => {
    expect(unused('health', 2_500, upgraded, 1_250)).toBe(500);
    // 15.00 were paid, and 5.00 with a credit.
    expect(unused('health', 1_500, downgraded, 500)).toBe(500);
    expect(unused('health', 2_500, upgraded, 0)).toBe(0);
  });

  it('is of the lines of an invoice, whatever it carries: the cards together have the unused time of all its own lines [D14.354]', () => {
    const amounts = fc.record({
      own: fc.integer({ min: 0, max: 100_000 }),
      charged: fc.integer({ min: 0, max: 50_000 }),
      creditShare: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(amounts, amounts, (eligible, other) => {
        // Credits pay no more than there is to be paid, of each part.
        const parts = [eligible, other].map(({ own, charged, creditShare }) => {
          return { own, charged, credited: Math.floor((own + charged) * creditShare) };
        });
        const prorations = parts.map(({ charged, credited }, index) =>
          carried(index === 0 ? 'eligible' : 'other', charged, credited),
        );
        const paid = parts.map(({ own, charged, credited }) => own + charged - credited);
        const owns = parts.map(({ own }) => Math.floor(own / 2));
        const [health = 0, beside = 0] = [
          unused('health', paid[0] ?? 0, prorations),
          unused('beside', paid[1] ?? 0, prorations),
        ];
        expect([health, beside]).toEqual(owns);
        const alone = unused('alone', (paid[0] ?? 0) + (paid[1] ?? 0), prorations);
        expect(Math.abs(alone - (parts[0]?.own ?? 0) / 2 - (parts[1]?.own ?? 0) / 2)).toBeLessThan(1);
      }),
    );
  });
});

it('counts what credits of earlier periods paid of each invoice beyond its charges for these [D14.332]', () => {
  const all = [
    carried('eligible', 1_000, 1_500),
    carried('other', 200, 0),
    carried('eligible', 500, 900, rest),
    carried('eligible', 2_000, 100, null, 'fin_2'),
    carried('other', 0, 50, null, 'fin_3'),
  ];
  expect(earlierCredits(all)).toBe(350);
});
