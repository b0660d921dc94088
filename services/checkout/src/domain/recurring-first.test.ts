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
    recurringLinesFirst: true,
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
    ['other lines', session([plan('health', 1_000), device('other', 3_000)]), 1_500, [1_000, 500]],
    [
      'other lines in proportion to what remains of each card and line',
      session([plan('health', 1_000), device('health', 100), device('other', 200), device('other', 100)]),
      1_200,
      [1_000, 50, 100, 50],
    ],
    [
      'other cards, where a dispute holds all of one',
      session([plan('health', 1_000), device('other', 3_000)], { health: 1_000 }),
      500,
      [0, 500],
    ],
    ['all that remains, and no more', session([plan('health', 1_000), device('other', 3_000)]), 9_000, [1_000, 3_000]],
  ])('takes what exceeds the time of the lines that recur from %s [D14.349]', (_what, sold, amount, expected) => {
    expect(perLine(sold, amount)).toEqual(expected);
  });

  it('is refused as any other refund is [D14.349]', () => {
    const spent = session([plan('health', 1_000, { refunded: 1_000 })]);
    expect(() => unusedTime(spent, 1)).toThrow(expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }));
    expect(() => unusedTime(session([plan('health', 1_000)]), 0)).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
    expect(() => unusedTime(session([plan(null, 0)]), 1)).toThrow(
      expect.objectContaining({ code: 'checkout_session_not_captured' }),
    );
  });

  it('does not matter to an instruction that states more than an amount [D14.349]', () => {
    const sold = session([plan('health', 1_000), device('other', 3_000)]);
    const all = allocateRefund(sold, { entries: [], methods: [], recurringLinesFirst: true });
    expect(all).toMatchObject({ amount: 4_000 });
    const entries = [{ priceId: 'price_1', amount: cents(500) }];
    expect(allocateRefund(sold, { entries, methods: [], recurringLinesFirst: true }).lines).toMatchObject([
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

  it('sums to its amount, stays within each line and card, and takes other lines only after those that recur [D14.349]', () => {
    fc.assert(
      fc.property(sessions, fc.integer({ min: 1, max: 120_000 }), (sold, amount) => {
        const rest = new Map(
          sold.cards.map((card) => [
            card.paymentIntentId,
            card.receivedCents - card.refundedCents - (card.disputedCents ?? 0),
          ]),
        );
        const remaining = [...rest.values()].reduce((sum, one) => sum + one, 0);
        if (remaining === 0) return void expect(() => unusedTime(sold, amount)).toThrow();
        const refund = unusedTime(sold, amount);
        expect(refund.amount).toBe(Math.min(amount, remaining));
        expect(sumCents(refund.lines.map((part) => part.amount))).toBe(refund.amount);
        expect(sumCents(refund.cards.map((part) => part.amount))).toBe(refund.amount);
        const ofCard = new Map(refund.cards.map((card) => [card.paymentIntentId, Number(card.amount)]));
        for (const [card, part] of ofCard) expect(part).toBeLessThanOrEqual(rest.get(card) ?? 0);
        const ofLine = new Map(refund.lines.map((part) => [part.lineId, part]));
        const leftOf = ({ id, capturedCents, refundedCents }: RefundableLine) =>
          capturedCents - refundedCents - (ofLine.get(id)?.amount ?? 0);
        for (const line of sold.lines) {
          expect(leftOf(line)).toBeGreaterThanOrEqual(0);
          // The money of a line goes to the card that paid the line, and to no other.
          expect(ofLine.get(line.id)?.paymentIntentId ?? line.paymentIntentId).toBe(line.paymentIntentId);
        }
        const takesOther = sold.lines.some((line) => line.recurring === undefined && ofLine.has(line.id));
        if (!takesOther) return;
        // Nothing of a line that recurs could still be taken.
        for (const line of sold.lines.filter(({ recurring }) => recurring !== undefined)) {
          const card = line.paymentIntentId ?? '';
          const isSpent = (rest.get(card) ?? 0) === (ofCard.get(card) ?? 0);
          expect(isSpent || leftOf(line) === 0).toBe(true);
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
