import { cents, sumCents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocateRefund, type RefundableLine, type RefundableSession } from './refund-allocation.ts';

interface Facts {
  readonly card: 'health' | 'other' | null;
  readonly captured: number;
  readonly refunded?: number;
  /** Undefined for what is sold once. */
  readonly recurs?: { readonly total?: number; readonly fee?: number };
}

function session(facts: readonly Facts[], held: Partial<Record<string, number>> = {}): RefundableSession {
  const lines = facts.map(({ card, captured, refunded = 0, recurs }, index): RefundableLine => {
    const recurring = recurs && { totalCents: cents(recurs.total ?? captured), feeCents: cents(recurs.fee ?? 0) };
    return {
      ...{ id: String(index), priceId: `price_${index}`, productId: `product_${index}`, paymentIntentId: card },
      ...{ capturedCents: cents(captured), refundedCents: cents(refunded), recurring },
      ...{ taxCents: cents(0), shippingCents: cents(0), discountCents: cents(0) },
    };
  });
  const cards = [...new Set(lines.flatMap((line) => line.paymentIntentId ?? []))].map((id) => {
    const own = lines.filter((line) => line.paymentIntentId === id);
    return {
      ...{ paymentIntentId: id, paymentMethodId: `card_${id}`, disputedCents: cents(held[id] ?? 0) },
      receivedCents: sumCents(own.map((line) => line.capturedCents)),
      refundedCents: sumCents(own.map((line) => line.refundedCents)),
    };
  });
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  return { lines, cards, captured: none, refunded: none };
}

const unusedTime = (of: RefundableSession, amount: number) =>
  allocateRefund(of, {
    ...{ entries: [], methods: [] },
    amount: cents(amount),
    atMost: true,
    recurringLinesOnly: true,
  });
/** What it takes of each line, in their order. */
const perLine = (of: RefundableSession, amount: number) => {
  const { lines } = unusedTime(of, amount);
  return of.lines.map(({ id }) => lines.find(({ lineId }) => lineId === id)?.amount ?? 0);
};

const plan = (card: Facts['card'], captured: number, parts: Partial<Facts> = {}): Facts => ({
  ...{ card, captured, recurs: {} },
  ...parts,
});
const device = (card: Facts['card'], captured: number): Facts => ({ card, captured });

describe('a refund of unused time', () => {
  it('goes to the card that paid the plan, and not to the one that paid a device [D14.3, D14.349]', () => {
    const sold = session([plan('health', 10_000), device('other', 30_000)]);
    expect(unusedTime(sold, 5_000)).toMatchObject({
      amount: 5_000,
      lines: [{ lineId: '0', paymentIntentId: 'health', amount: 5_000 }],
      cards: [{ paymentIntentId: 'health', amount: 5_000 }],
    });
  });

  it.each<[string, readonly Facts[], number, readonly number[]]>([
    ['of each plan', [plan('health', 1_000), plan('other', 3_000), device('health', 9_000)], 1_000, [250, 750, 0]],
    ['of each plan, to the cent', [plan('health', 100), plan('other', 100), plan('other', 100)], 100, [33, 34, 33]],
    ['after refunds', [plan('health', 1_000, { refunded: 600 }), plan('other', 1_000)], 700, [200, 500]],
    [
      'without fees',
      [plan('health', 5_000, { recurs: { fee: 3_000 } }), plan('other', 2_000), device('other', 9_000)],
      2_000,
      [1_000, 1_000, 0],
    ],
    [
      'of what was captured, without fees',
      [plan('health', 2_500, { recurs: { total: 5_000, fee: 3_000 } }), plan('other', 1_000)],
      1_000,
      [500, 500],
    ],
  ])(
    'comes from the lines that recur in proportion to what remains %s [D14.3, D14.349]',
    (_what, lines, amount, expected) => {
      expect(perLine(session(lines), amount)).toEqual(expected);
    },
  );

  it('leaves out what a dispute holds of a card, which it holds of each line in proportion [D14.332, D14.349]', () => {
    const sold = session([plan('health', 1_000), device('health', 1_000), plan('other', 1_000)], { health: 1_000 });
    expect(perLine(sold, 600)).toEqual([200, 0, 400]);
  });

  it.each<[string, RefundableSession, number, readonly number[]]>([
    [
      'their fees',
      session([plan('health', 1_500, { recurs: { fee: 500 } }), device('health', 900)]),
      1_200,
      [1_200, 0],
    ],
    [
      'what a dispute would hold of them',
      session([plan('health', 1_000), device('health', 1_000)], { health: 1_000 }),
      800,
      [800, 0],
    ],
    ['nothing else', session([plan('health', 1_000), device('other', 3_000)]), 1_500, [1_000, 0]],
    ['nothing else of its card', session([plan('health', 1_000), device('health', 3_000)]), 9_000, [1_000, 0]],
    [
      'a plan on the other card, where a dispute holds all of one',
      session([plan('health', 1_000), plan('other', 1_000), device('other', 3_000)], { health: 1_000 }),
      1_500,
      [0, 1_000, 0],
    ],
  ])('takes what exceeds the time of the lines that recur from %s [D14.349]', (_what, sold, amount, expected) => {
    expect(perLine(sold, amount)).toEqual(expected);
  });

  it.each([
    ['the plan was refunded', session([plan('health', 1_000, { refunded: 1_000 }), device('other', 3_000)])],
    ['a dispute holds the plan', session([plan('health', 1_000), device('other', 3_000)], { health: 1_000 })],
    ['nothing recurs', session([device('health', 1_000), device('other', 3_000)])],
  ])('is refused where %s: a device has no unused time [D14.349]', (_what, sold) => {
    expect(() => unusedTime(sold, 1)).toThrow(expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }));
  });

  it('of more than remains of the lines that recur is refused unless it is of at most the amount [D14.40, D14.349]', () => {
    const sold = session([plan('health', 1_000), device('other', 3_000)]);
    const exact = (amount: number) =>
      allocateRefund(sold, { entries: [], methods: [], amount: cents(amount), recurringLinesOnly: true });
    expect(() => exact(1_500)).toThrow(expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }));
    expect(exact(1_000)).toMatchObject({ amount: 1_000 });
  });

  const letterFee = (wholeCents: number, pendingCents: number) =>
    new Map([['1', { wholeCents: cents(wholeCents), pendingCents: cents(pendingCents) }]]);
  it.each<[string, Facts, number, readonly number[]]>([
    ['was refunded of its line', plan('other', 5_000, { refunded: 3_000, recurs: { fee: 3_000 } }), 0, [500, 500]],
    ['is to be refunded', plan('other', 5_000, { recurs: { fee: 3_000 } }), 3_000, [500, 500]],
    ['was refunded beside a part', plan('other', 5_000, { refunded: 4_000, recurs: { fee: 3_000 } }), 0, [667, 333]],
    [
      'is to be refunded beside a part',
      plan('other', 5_000, { refunded: 1_000, recurs: { fee: 3_000 } }),
      3_000,
      [667, 333],
    ],
    [
      'was captured in part',
      plan('other', 2_500, { refunded: 1_500, recurs: { total: 5_000, fee: 3_000 } }),
      0,
      [667, 333],
    ],
    [
      'was refunded, with another fee',
      plan('other', 6_000, { refunded: 3_000, recurs: { fee: 4_000 } }),
      0,
      [500, 500],
    ],
  ])('counts a plan without a letter fee that %s [D14.330, D14.383, D14.385]', (_what, withFee, pending, expected) => {
    const sold = { ...session([plan('health', 2_000), withFee]), letterFees: letterFee(3_000, pending) };
    expect(perLine(sold, 1_000)).toEqual(expected);
  });

  it.each([
    ['is to be refunded', 0, 3_000],
    ['was refunded', 3_000, 0],
  ])(
    'counts what a dispute leaves beside a letter fee that %s, which comes out of that [D14.383, D14.384]',
    (_what, refunded, pending) => {
      const withFee = plan('other', 13_000, { refunded, recurs: { fee: 3_000 } });
      const sold = {
        ...session([plan('health', 3_500), withFee], { other: 6_500 }),
        letterFees: letterFee(3_000, pending),
      };
      // Of 35.00 each.
      expect(perLine(sold, 1_000)).toEqual([500, 500]);
    },
  );

  it('is refused as any other refund is [D14.349]', () => {
    expect(() => unusedTime(session([plan('health', 1_000)]), 0)).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
    expect(() => unusedTime(session([plan(null, 0)]), 1)).toThrow(
      expect.objectContaining({ code: 'checkout_session_not_captured' }),
    );
  });

  it('does not matter to an instruction that states more than an amount [D14.349]', () => {
    const sold = session([plan('health', 1_000), device('other', 3_000)]);
    const all = allocateRefund(sold, { entries: [], methods: [], recurringLinesOnly: true });
    expect(all).toMatchObject({ amount: 4_000 });
    const entries = [{ priceId: 'price_1', amount: cents(500) }];
    expect(allocateRefund(sold, { entries, methods: [], recurringLinesOnly: true }).lines).toMatchObject([
      { lineId: '1', amount: 500 },
    ]);
  });

  const facts = fc.record({
    card: fc.constantFrom('health' as const, 'other' as const),
    captured: fc.integer({ min: 1, max: 50_000 }),
    refundedShare: fc.double({ min: 0, max: 1, noNaN: true }),
    recurs: fc.boolean(),
    feeShare: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
  });
  const sessions = fc
    .tuple(fc.array(facts, { minLength: 1, maxLength: 8 }), fc.constantFrom(0, 0, 0.3, 1), fc.constantFrom(0, 0, 0.7))
    .map(([lines, heldOfHealth, heldOfOther]) => {
      const given = lines.map(({ card, captured, refundedShare, recurs, feeShare }): Facts => {
        const recurring = recurs ? { recurs: { fee: Math.floor(captured * feeShare) } } : {};
        return { ...{ card, captured, refunded: Math.floor(captured * refundedShare) }, ...recurring };
      });
      const restOf = (card: string) =>
        given.reduce((sum, one) => sum + (one.card === card ? one.captured - (one.refunded ?? 0) : 0), 0);
      return session(given, {
        health: Math.floor(restOf('health') * heldOfHealth),
        other: Math.floor(restOf('other') * heldOfOther),
      });
    });

  it('sums to its amount, stays within each line and card, and takes nothing of what was sold once [D14.349]', () => {
    fc.assert(
      fc.property(sessions, fc.integer({ min: 1, max: 120_000 }), (sold, amount) => {
        const leftOf = ({ capturedCents, refundedCents }: RefundableLine) => capturedCents - refundedCents;
        const rest = new Map(
          sold.cards.map((card) => [
            card.paymentIntentId,
            card.receivedCents - card.refundedCents - (card.disputedCents ?? 0),
          ]),
        );
        const remaining = [...rest].reduce((sum, [card, ofCard]) => {
          const own = sold.lines.filter((line) => line.recurring !== undefined && line.paymentIntentId === card);
          return sum + Math.min(ofCard, sumCents(own.map((line) => cents(leftOf(line)))));
        }, 0);
        if (remaining === 0) return void expect(() => unusedTime(sold, amount)).toThrow();
        const refund = unusedTime(sold, amount);
        expect(refund.amount).toBe(Math.min(amount, remaining));
        expect(sumCents(refund.lines.map((part) => part.amount))).toBe(refund.amount);
        expect(sumCents(refund.cards.map((part) => part.amount))).toBe(refund.amount);
        for (const card of refund.cards) expect(card.amount).toBeLessThanOrEqual(rest.get(card.paymentIntentId) ?? 0);
        for (const part of refund.lines) {
          const line = sold.lines.find(({ id }) => id === part.lineId);
          expect(line?.recurring).toBeDefined();
          expect(part.amount).toBeLessThanOrEqual(line === undefined ? 0 : leftOf(line));
          // The money of a line goes to the card that paid the line, and to no other.
          expect(part.paymentIntentId).toBe(line?.paymentIntentId);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives each card its part of what was paid for time, to the cent [D14.349]', () => {
    const undisputed = fc
      .array(facts, { minLength: 1, maxLength: 8 })
      .map((lines) =>
        session(lines.map(({ card, captured, recurs }) => (recurs ? plan(card, captured) : device(card, captured)))),
      );
    fc.assert(
      fc.property(undisputed, fc.double({ min: 0, max: 1, noNaN: true }), (sold, share) => {
        const recurring = sold.lines.filter((line) => line.recurring !== undefined);
        const time = sumCents(recurring.map(({ capturedCents }) => capturedCents));
        const amount = Math.floor(time * share);
        if (amount === 0) return;
        const { cards } = unusedTime(sold, amount);
        for (const { paymentIntentId } of sold.cards) {
          const own = recurring.filter((line) => line.paymentIntentId === paymentIntentId);
          const exact = (amount * sumCents(own.map(({ capturedCents }) => capturedCents))) / time;
          const part = cards.find((card) => card.paymentIntentId === paymentIntentId)?.amount ?? 0;
          expect(Math.abs(part - exact)).toBeLessThan(1);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
