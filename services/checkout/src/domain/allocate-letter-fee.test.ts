import { cents, sumCents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LineWithFees } from './letter-fee.ts';
import { allocateRefund, type RefundableLine, type RefundableSession } from './refund-allocation.ts';

interface Facts {
  readonly card: 'health' | 'other' | null;
  readonly captured: number;
  readonly refunded?: number;
  /** The letter fee that is still to be refunded of it. */
  readonly fee?: number;
  /** The line that this is one card's part of. */
  readonly lineId?: string;
}

function session(facts: readonly Facts[], held: Partial<Record<string, number>> = {}): RefundableSession {
  const lines = facts.map(
    ({ card, captured, refunded = 0, fee = 0, lineId }, index): RefundableLine => ({
      ...{ id: String(index), priceId: `price_${index}`, productId: `product_${index}`, paymentIntentId: card },
      ...(lineId === undefined ? {} : { lineId }),
      ...{ capturedCents: cents(captured), refundedCents: cents(refunded), whole: noted(fee) },
      ...{ taxCents: cents(0), shippingCents: cents(0), discountCents: cents(0) },
    }),
  );
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

function noted(fee: number): LineWithFees {
  return { letterFeeGivenBackCents: cents(fee), letterFeeRefundedCents: cents(0) } as LineWithFees;
}

const fee = (of: RefundableSession, amount: number, atMost = true) =>
  allocateRefund(of, { ...{ entries: [], methods: [], atMost }, amount: cents(amount), letterFee: true });
/** What it takes of each line, in their order. */
const perLine = (of: RefundableSession, amount: number) => {
  const { lines } = fee(of, amount);
  return of.lines.map(({ id, lineId = id }) =>
    sumCents(lines.filter((line) => line.lineId === lineId).map((line) => line.amount)),
  );
};
const refuses = (of: RefundableSession, amount: number, code: string, atMost?: boolean) =>
  expect(() => fee(of, amount, atMost)).toThrow(expect.objectContaining({ code }));

describe('the refund of a letter fee', () => {
  it.each<[string, readonly Facts[], number, readonly number[]]>([
    [
      'of its line alone',
      [
        { card: 'other', captured: 10_000 },
        { card: 'other', captured: 5_000, fee: 3_000 },
      ],
      3_000,
      [0, 3_000],
    ],
    [
      'of each of its lines',
      [
        { card: 'other', captured: 4_000, fee: 1_000 },
        { card: 'other', captured: 6_000, fee: 500 },
        { card: 'other', captured: 6_000 },
      ],
      1_500,
      [1_000, 500, 0],
    ],
    [
      'what another refund has left of its line',
      [
        { card: 'other', captured: 10_000 },
        { card: 'other', captured: 5_000, refunded: 4_000, fee: 3_000 },
      ],
      3_000,
      [0, 1_000],
    ],
    [
      'a part in proportion',
      [
        { card: 'other', captured: 4_000, fee: 1_000 },
        { card: 'other', captured: 6_000, fee: 500 },
      ],
      300,
      [200, 100],
    ],
  ])('takes %s [D14.172, D14.385]', (_what, facts, amount, expected) => {
    expect(perLine(session(facts), amount)).toEqual(expected);
  });

  it('goes to the card that paid the line, up to what a dispute leaves of that card [D14.172, D14.385]', () => {
    const facts: readonly Facts[] = [
      { card: 'health', captured: 10_000 },
      { card: 'other', captured: 5_000, fee: 3_000 },
    ];
    expect(fee(session(facts), 3_000).cards).toEqual([{ paymentIntentId: 'other', amount: 3_000 }]);
    expect(fee(session(facts, { other: 4_000 }), 3_000).cards).toEqual([{ paymentIntentId: 'other', amount: 1_000 }]);
  });

  it('takes the fee of a line that two cards paid once [D14.183, D14.385]', () => {
    const parts: readonly Facts[] = [
      { card: 'health', captured: 1_000, lineId: 'both', fee: 1_500 },
      { card: 'other', captured: 2_000, lineId: 'both', fee: 1_500 },
    ];
    expect(fee(session(parts), 9_000)).toMatchObject({
      cards: [
        { paymentIntentId: 'health', amount: 1_000 },
        { paymentIntentId: 'other', amount: 500 },
      ],
    });
  });

  it('is refused where nothing of it is to be refunded, whatever remains of the session [D14.385]', () => {
    const kept = session([{ card: 'other', captured: 10_000 }]);
    refuses(kept, 1, 'refund_amount_exceeds_remaining');
    refuses(
      session([{ card: 'other', captured: 5_000, refunded: 5_000, fee: 3_000 }]),
      1,
      'refund_amount_exceeds_remaining',
    );
    refuses(session([{ card: 'other', captured: 5_000, fee: 3_000 }]), 3_001, 'refund_amount_exceeds_remaining', false);
    refuses(session([{ card: 'other', captured: 5_000, fee: 3_000 }]), 0, 'refund_amount_invalid');
    refuses(session([{ card: null, captured: 0, fee: 3_000 }]), 1, 'checkout_session_not_captured');
    expect(
      allocateRefund(session([{ card: 'other', captured: 5_000, fee: 3_000 }]), {
        entries: [],
        methods: [],
        letterFee: true,
      }),
    ).toMatchObject({
      amount: 3_000,
    });
  });

  it('never takes more of a line than its fee, nor of a line or a card than remains [D14.385]', () => {
    const facts = fc.record({
      card: fc.constantFrom('health' as const, 'other' as const),
      captured: fc.integer({ min: 1, max: 50_000 }),
      refundedShare: fc.double({ min: 0, max: 1, noNaN: true }),
      feeShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    });
    const held = fc.record({ health: fc.nat(50_000), other: fc.nat(50_000) });
    fc.assert(
      fc.property(
        fc.array(facts, { minLength: 1, maxLength: 8 }),
        held,
        fc.integer({ min: 1, max: 90_000 }),
        (given, of, amount) => {
          const sold = session(
            given.map(({ card, captured, refundedShare, feeShare }) => ({
              ...{ card, captured, refunded: Math.floor(captured * refundedShare) },
              ...(feeShare === undefined ? {} : { fee: Math.floor(captured * feeShare) }),
            })),
            of,
          );
          const restOfCard = (id: string | null) => {
            const card = sold.cards.find(({ paymentIntentId }) => paymentIntentId === id);
            return card === undefined
              ? 0
              : Math.max(0, card.receivedCents - card.refundedCents - (card.disputedCents ?? 0));
          };
          const rooms = sold.lines.map(({ whole, capturedCents, refundedCents }) =>
            Math.min(whole?.letterFeeGivenBackCents ?? 0, capturedCents - refundedCents),
          );
          const ofCard = (id: string) =>
            sold.lines.reduce((sum, line, i) => sum + (line.paymentIntentId === id ? (rooms[i] ?? 0) : 0), 0);
          const most = sold.cards.reduce(
            (sum, { paymentIntentId: id }) => sum + Math.min(ofCard(id), restOfCard(id)),
            0,
          );
          if (most === 0) return void refuses(sold, amount, 'refund_amount_exceeds_remaining');
          const refund = fee(sold, amount);
          expect(refund.amount).toBe(Math.min(amount, most));
          for (const { lineId, paymentIntentId, amount: taken } of refund.lines) {
            expect(taken).toBeLessThanOrEqual(rooms[Number(lineId)] ?? 0);
            expect(paymentIntentId).toBe(sold.lines[Number(lineId)]?.paymentIntentId);
          }
          for (const card of refund.cards) expect(card.amount).toBeLessThanOrEqual(restOfCard(card.paymentIntentId));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
