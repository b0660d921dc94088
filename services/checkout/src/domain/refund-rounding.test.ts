import { cents, sumCents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allocateRefund,
  type RefundableLine,
  type RefundableSession,
  type RefundInstruction,
} from './refund-allocation.ts';

const nothing: RefundInstruction = { entries: [], methods: [] };
const exceeds = expect.objectContaining({ code: 'refund_amount_exceeds_remaining' });

// Lines by [card, captured, refunded]; one without a card is collected by the client, or is free when it costs nothing.
function cart(lines: readonly (readonly [card: string | null, captured: number, refunded?: number])[]) {
  const taken = lines.map(([card, captured, refunded = 0], index): RefundableLine => {
    const id = 'abcdefghij'[index] ?? '';
    return {
      ...{ id, priceId: `price_${id}`, productId: `product_${id}`, paymentIntentId: card },
      ...{ capturedCents: cents(captured), refundedCents: cents(refunded) },
      ...{ taxCents: cents(0), shippingCents: cents(0), discountCents: cents(0) },
      isFree: card === null && captured === 0 && refunded === 0,
    };
  });
  return sessionOf(taken);
}

function sessionOf(lines: readonly RefundableLine[]): RefundableSession {
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  const cards = [...new Set(lines.flatMap((line) => line.paymentIntentId ?? []))].map((id) => {
    const paid = lines.filter((line) => line.paymentIntentId === id);
    return {
      ...{ paymentIntentId: id, paymentMethodId: `card_${id}` },
      receivedCents: sumCents(paid.map((line) => line.capturedCents)),
      refundedCents: sumCents(paid.map((line) => line.refundedCents)),
    };
  });
  return { lines, cards, captured: none, refunded: none };
}

const listed = (amounts: Readonly<Record<string, number>>) =>
  Object.entries(amounts).map(([id, amount]) => ({ priceId: `price_${id}`, amount: cents(amount) }));
// The health card pays 15.00 of it, and the client collects a line of its own, as it does where it has another processor.
const collected = (): RefundableSession => {
  const session = cart([
    ['health', 1_000],
    [null, 0],
    ['health', 500],
  ]);
  return { ...session, lines: session.lines.map((line) => ({ ...line, isFree: false })) };
};
const twoCards = () =>
  cart([
    ['health', 1_000],
    ['other', 3_000],
    ['health', 500],
  ]);

describe('a refund of the remaining balance, by the client’s own rounding', () => {
  it.each<[string, () => RefundableSession, Partial<RefundInstruction>, number]>([
    ['an amount with a cent more, of a cart of which it collects a part', collected, { amount: cents(1_501) }, 1_500],
    ['an amount with a cent more, on two cards', twoCards, { amount: cents(4_501) }, 4_500],
    ['an amount with a cent less', twoCards, { amount: cents(4_499) }, 4_499],
    ['lines with a cent more', collected, { entries: listed({ a: 1_001, c: 500 }) }, 1_500],
    ['lines with a cent less', collected, { entries: listed({ a: 999, c: 500 }) }, 1_499],
    [
      'lines of two cards with a cent on the other one',
      twoCards,
      { entries: listed({ a: 1_001, b: 2_999, c: 500 }) },
      4_500,
    ],
    [
      'lines of two cards with a cent on the other one, and one less',
      twoCards,
      { entries: listed({ a: 1_001, b: 2_998, c: 500 }) },
      4_499,
    ],
  ])('refunds %s, and nothing beyond the remaining balance [D14.160]', (_, session, stated, amount) => {
    const refund = allocateRefund(session(), { ...nothing, ...stated });
    expect(refund.amount).toBe(amount);
    expect(sumCents(refund.cards.map((card) => card.amount))).toBe(amount);
  });

  it.each([
    [1, 1_500],
    [-1, 1_499],
  ])('takes a free line that is listed with %i cents beside all others [D1.10, D14.160]', (free, amount) => {
    const session = cart([
      ['health', 1_000],
      [null, 0],
      ['health', 500],
    ]);
    const refund = allocateRefund(session, { ...nothing, entries: listed({ a: 1_000, b: free, c: 500 }) });
    expect(refund.amount).toBe(amount);
  });

  it('leaves the cent of an earlier refund with a cent less to a later refund [D14.160]', () => {
    const left = cart([
      ['health', 1_000, 999],
      ['other', 3_000, 3_000],
    ]);
    expect(allocateRefund(left, nothing).cards).toEqual([{ paymentIntentId: 'health', amount: 1 }]);
    const spent = cart([
      ['health', 1_000, 1_000],
      ['other', 3_000, 3_000],
    ]);
    expect(() => allocateRefund(spent, { ...nothing, amount: cents(1) })).toThrow(exceeds);
  });

  it.each<[string, () => RefundableSession, Partial<RefundInstruction>]>([
    ['two cents more', twoCards, { amount: cents(4_502) }],
    ['a cent more of a cart that one card paid', () => cart([['health', 1_000]]), { amount: cents(1_001) }],
    ['two cents on another card', twoCards, { entries: listed({ a: 1_002, b: 2_998, c: 500 }) }],
    ['a cent on another card, of a part', twoCards, { entries: listed({ a: 1_001, c: 500 }) }],
  ])('refuses %s [D14.160]', (_, session, stated) => {
    expect(() => allocateRefund(session(), { ...nothing, ...stated })).toThrow(exceeds);
  });

  it('refuses a cent more where the client names the cards: it has the amount of each [D14.160]', () => {
    const methods = [
      { paymentMethodId: 'card_health', amount: cents(1_501) },
      { paymentMethodId: 'card_other', amount: cents(3_000) },
    ];
    expect(() => allocateRefund(twoCards(), { ...nothing, methods })).toThrow(exceeds);
  });

  it('keeps a cent out of what a dispute holds [D14.160, D14.124]', () => {
    const session = twoCards();
    const cards = session.cards.map((card, index) => (index === 0 ? { ...card, disputedCents: cents(1) } : card));
    const held = { ...session, cards };
    expect(allocateRefund(held, { ...nothing, amount: cents(4_500) }).cards).toEqual([
      { paymentIntentId: 'health', amount: 1_499 },
      { paymentIntentId: 'other', amount: 3_000 },
    ]);
    expect(() => allocateRefund(held, { ...nothing, entries: listed({ a: 1_000, b: 3_000, c: 500 }) })).toThrow(
      exceeds,
    );
  });

  it('never refunds more than asked, nor than a line or a card paid, however a client rounds its lines', () => {
    const line = fc.record({
      card: fc.constantFrom('health', 'other', null),
      captured: fc.integer({ min: 2, max: 5_000 }),
      rounding: fc.integer({ min: -1, max: 1 }),
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        const session = cart(lines.map(({ card, captured }) => [card, card === null ? 0 : captured]));
        const remaining = sumCents(session.cards.map((card) => card.receivedCents));
        fc.pre(remaining > 0);
        const amounts = lines.map(({ card, captured, rounding }) => (card === null ? 0 : captured) + rounding);
        const asked = amounts.reduce((sum, amount) => sum + amount, 0);
        fc.pre(asked > 0 && asked <= remaining);
        const entries = session.lines.map(({ priceId }, index) => ({ priceId, amount: cents(amounts[index] ?? 0) }));
        let refund: ReturnType<typeof allocateRefund>;
        try {
          refund = allocateRefund(session, { ...nothing, entries });
        } catch (error) {
          // Only lines whose cents add up to more than one on a card are refused.
          expect(asked).toBeLessThan(remaining - 1);
          expect(error).toEqual(exceeds);
          return;
        }
        expect(refund.amount).toBe(asked);
        for (const { lineId, amount } of refund.lines) {
          expect(amount).toBeLessThanOrEqual(session.lines.find(({ id }) => id === lineId)?.capturedCents ?? 0);
        }
        for (const { paymentIntentId, amount } of refund.cards) {
          const card = session.cards.find((one) => one.paymentIntentId === paymentIntentId);
          expect(amount).toBeLessThanOrEqual(card?.receivedCents ?? 0);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
