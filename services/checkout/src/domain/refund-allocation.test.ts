import { cents, sumCents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allocateRefund,
  type RefundableLine,
  type RefundableSession,
  type RefundInstruction,
} from './refund-allocation.ts';
import { drawFromCaptures } from './refunded-captures.ts';

const nothing: RefundInstruction = { entries: [], methods: [] };
const largest = cents(Number.MAX_SAFE_INTEGER);

function line(
  id: string,
  card: string | null,
  captured: number,
  refunded = 0,
  parts: Partial<{ tax: number; isFree: boolean }> = {},
): RefundableLine {
  return {
    id,
    priceId: `price_${id}`,
    productId: `product_${id}`,
    paymentIntentId: card,
    capturedCents: cents(captured),
    refundedCents: cents(refunded),
    taxCents: cents(parts.tax ?? 0),
    shippingCents: cents(0),
    discountCents: cents(0),
    isFree: parts.isFree ?? false,
  };
}

function session(lines: readonly RefundableLine[]): RefundableSession {
  const cards = [...new Set(lines.flatMap((one) => one.paymentIntentId ?? []))].map((id) => {
    const paid = lines.filter((one) => one.paymentIntentId === id);
    return {
      paymentIntentId: id,
      paymentMethodId: `card_${id}`,
      receivedCents: sumCents(paid.map((one) => one.capturedCents)),
      refundedCents: sumCents(paid.map((one) => one.refundedCents)),
    };
  });
  const tax = sumCents(lines.map((one) => one.taxCents));
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  return { lines, cards, captured: { ...none, tax }, refunded: none };
}

describe('allocating a refund', () => {
  const split = session([line('a', 'health', 1_000), line('b', 'other', 3_000), line('c', 'health', 500)]);

  it('refunds the remaining balance to the cards that paid it when no amount is given [SREF-2]', () => {
    const all = allocateRefund(split, nothing);
    expect(all.amount).toBe(4_500);
    expect(all.cards).toEqual([
      { paymentIntentId: 'health', amount: 1_500 },
      { paymentIntentId: 'other', amount: 3_000 },
    ]);
  });

  it('refunds the remaining balance of one card, and the components with the last of it [D14.45]', () => {
    const both = session([line('a', 'health', 1_000, 0, { tax: 80 }), line('b', 'other', 3_000, 0, { tax: 240 })]);
    const [health, other] = both.cards;
    const lines = both.lines.map((one) => (one.id === 'a' ? one : { ...one, paymentIntentId: null }));
    const first = allocateRefund({ ...both, lines, cards: health === undefined ? [] : [health] }, nothing);
    expect(first).toMatchObject({ amount: 1_000, tax: 0 });
    const spent = both.lines.map((one) =>
      one.id === 'a' ? { ...one, paymentIntentId: null, refundedCents: one.capturedCents } : one,
    );
    const second = allocateRefund({ ...both, lines: spent, cards: other === undefined ? [] : [other] }, nothing);
    expect(second).toMatchObject({ amount: 3_000, tax: 320 });
  });

  it('refuses a refund without a remaining balance, so that a retry after a lost response is recognizable', () => {
    const spent = session([line('a', 'health', 1_000, 1_000)]);
    expect(() => allocateRefund(spent, nothing)).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
  });

  it('splits a total amount over the cards by what each has left, largest remainder first', () => {
    const half = allocateRefund(split, { ...nothing, amount: cents(100) });
    expect(half.cards).toEqual([
      { paymentIntentId: 'health', amount: 33 },
      { paymentIntentId: 'other', amount: 67 },
    ]);
  });

  it('counts earlier refunds of a card: the shares follow the remaining balance, not the paid amount', () => {
    const partly = session([line('a', 'health', 600, 500), line('b', 'other', 400)]);
    expect(allocateRefund(partly, { ...nothing, amount: cents(100) }).cards).toEqual([
      { paymentIntentId: 'health', amount: 20 },
      { paymentIntentId: 'other', amount: 80 },
    ]);
  });

  it('refunds a line to its own card', () => {
    const one = allocateRefund(split, { ...nothing, entries: [{ priceId: 'price_b', amount: cents(700) }] });
    expect(one.cards).toEqual([{ paymentIntentId: 'other', amount: 700 }]);
    expect(one.lines).toEqual([{ lineId: 'b', paymentIntentId: 'other', amount: 700 }]);
  });

  it('moves what exceeds a line to other lines of the same card [D1.10]', () => {
    const more = allocateRefund(split, { ...nothing, entries: [{ priceId: 'price_a', amount: cents(1_200) }] });
    expect(more.lines).toEqual([
      { lineId: 'a', paymentIntentId: 'health', amount: 1_000 },
      { lineId: 'c', paymentIntentId: 'health', amount: 200 },
    ]);
  });

  it('takes a cent that a client lists on a free line from the first line with a remaining balance, and nets a cent less [D1.10]', () => {
    const cart = session([
      line('a', 'health', 1_000),
      line('free', null, 0, 0, { isFree: true }),
      line('b', 'other', 3_000),
    ]);
    const listed = (free: number, paid: number) => [
      { priceId: 'price_free', amount: cents(free) },
      { priceId: 'price_b', amount: cents(paid) },
    ];
    expect(allocateRefund(cart, { ...nothing, entries: listed(1, 2_999) })).toMatchObject({
      amount: 3_000,
      lines: [
        { lineId: 'a', amount: 1 },
        { lineId: 'b', amount: 2_999 },
      ],
    });
    expect(allocateRefund(cart, { ...nothing, entries: listed(-1, 3_000) })).toMatchObject({
      amount: 2_999,
      lines: [{ lineId: 'b', amount: 2_999 }],
    });
    // What the client collected for a line by itself is not refunded to a card, not a cent of it.
    const collected = { ...cart, lines: cart.lines.map((one) => ({ ...one, isFree: false })) };
    expect(() => allocateRefund(collected, { ...nothing, entries: listed(1, 2_000) })).toThrow(/exceeds/);
    expect(() => allocateRefund(cart, { ...nothing, entries: listed(2, 2_000) })).toThrow(/exceeds/);
  });

  it('limits a refund to what no dispute holds of its card, also where another card has more [D14.124]', () => {
    const cart = session([line('a', 'health', 1_000), line('b', 'other', 3_000)]);
    const held = {
      ...cart,
      cards: cart.cards.map((card, index) => (index === 0 ? { ...card, disputedCents: cents(600) } : card)),
    };
    expect(allocateRefund(held, nothing).cards).toEqual([
      { paymentIntentId: 'health', amount: 400 },
      { paymentIntentId: 'other', amount: 3_000 },
    ]);
    const entries = [{ priceId: 'price_a', amount: cents(401) }];
    expect(() => allocateRefund(held, { ...nothing, entries })).toThrow(/exceeds/);
    expect(() => allocateRefund(held, { ...nothing, amount: cents(3_402) })).toThrow(/exceeds/);
    const all = { ...held, cards: cart.cards.map((card) => ({ ...card, disputedCents: cents(5_000) })) };
    expect(() => allocateRefund(all, nothing)).toThrow(/no remaining balance/);
  });

  it('never takes from one card what exceeds the other [D1.10]', () => {
    const entries = [{ priceId: 'price_a', amount: cents(1_501) }];
    expect(() => allocateRefund(split, { ...nothing, entries })).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
  });

  it.each<Partial<RefundInstruction>>([
    { methods: ['health', 'other'].map((id) => ({ paymentMethodId: `card_${id}`, amount: largest })) },
    {
      entries: [
        { priceId: 'price_a', amount: largest },
        { priceId: 'price_a', amount: largest },
        { priceId: 'price_b', amount: cents(-largest) },
        { priceId: 'price_c', amount: cents(1 - largest) },
      ],
    },
  ])('refuses amounts which add up to more than can be counted: %j', (stated) => {
    expect(() => allocateRefund(split, { ...nothing, ...stated })).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
  });

  it('nets amounts as large as can be counted', () => {
    const entries = [
      { priceId: 'price_b', amount: largest },
      { priceId: 'price_a', amount: cents(1 - largest) },
    ];
    expect(allocateRefund(split, { ...nothing, entries }).lines).toEqual([
      { lineId: 'b', paymentIntentId: 'other', amount: 1 },
    ]);
  });

  it('adds up entries of one price, takes 0 as legal and nets a negative one [D1.10]', () => {
    const entries = [
      { priceId: 'price_b', amount: cents(500) },
      { priceId: 'price_b', amount: cents(300) },
      { priceId: 'price_a', amount: cents(0) },
      { priceId: 'price_c', amount: cents(-100) },
    ];
    expect(allocateRefund(split, { ...nothing, entries }).amount).toBe(700);
  });

  it('adds tax to the lines and takes the discount away, within what was captured of each [SREF-1, D13.1]', () => {
    const taxed = session([line('a', 'health', 1_100, 0, { tax: 100 })]);
    const entries = [{ priceId: 'price_a', amount: cents(500) }];
    expect(allocateRefund(taxed, { ...nothing, entries, tax: cents(50) })).toMatchObject({ amount: 550, tax: 50 });
    expect(() => allocateRefund(taxed, { ...nothing, entries, tax: cents(101) })).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
  });

  it('counts earlier refunds of a component, and refunds no more of it than was captured', () => {
    const taxed = session([line('a', 'health', 1_000, 50, { tax: 80 })]);
    const before = { ...taxed, refunded: { ...taxed.refunded, tax: cents(50) } };
    expect(allocateRefund(before, { ...nothing, tax: cents(30) })).toMatchObject({ amount: 30, tax: 30 });
    expect(() => allocateRefund(before, { ...nothing, tax: cents(31) })).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
  });

  it('takes components alone for the refund [D13.1]', () => {
    const taxed = session([line('a', 'health', 1_100, 0, { tax: 100 })]);
    expect(allocateRefund(taxed, { ...nothing, tax: cents(100) })).toMatchObject({ amount: 100, tax: 100 });
  });

  it.each([0, -1])('refuses an amount of %i', (amount) => {
    expect(() => allocateRefund(split, { ...nothing, amount: cents(amount) })).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
  });

  it('refuses a session without a captured amount', () => {
    expect(() => allocateRefund(session([line('a', null, 0)]), nothing)).toThrow(
      expect.objectContaining({ code: 'checkout_session_not_captured' }),
    );
  });

  it('names the entry whose price is not in the session', () => {
    const entries = [
      { priceId: 'price_a', amount: cents(1) },
      { priceId: 'price_z', amount: cents(1) },
    ];
    expect(() => allocateRefund(split, { ...nothing, entries })).toThrow(
      expect.objectContaining({
        violations: [expect.objectContaining({ loc: ['body', 'checkout_session', 'line_items', '1', 'price'] })],
      }),
    );
  });

  it('holds payment_methods to the cards that paid and to the whole', () => {
    const methods = [
      { paymentMethodId: 'card_health', amount: cents(100) },
      { paymentMethodId: 'card_other', amount: cents(200) },
    ];
    expect(allocateRefund(split, { ...nothing, amount: cents(300), methods }).cards).toEqual([
      { paymentIntentId: 'health', amount: 100 },
      { paymentIntentId: 'other', amount: 200 },
    ]);
    expect(() => allocateRefund(split, { ...nothing, amount: cents(301), methods })).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
  });

  it('refuses payment_methods that are not the cards which paid the lines given: no line moves to another card', () => {
    const entries = [{ priceId: 'price_a', amount: cents(100) }];
    const stated = (health: number, other: number) => [
      { paymentMethodId: 'card_health', amount: cents(health) },
      { paymentMethodId: 'card_other', amount: cents(other) },
    ];
    for (const methods of [stated(0, 100), stated(50, 50)]) {
      expect(() => allocateRefund(split, { ...nothing, entries, methods })).toThrow(
        expect.objectContaining({ code: 'refund_amount_invalid' }),
      );
    }
    const cards = allocateRefund(split, { ...nothing, entries, methods: stated(100, 0) }).cards;
    expect(cards).toEqual([{ paymentIntentId: 'health', amount: 100 }]);
  });

  it('refunds the remaining balance when at most an amount is requested [D14.40]', () => {
    expect(allocateRefund(split, { ...nothing, amount: cents(300), atMost: true }).amount).toBe(300);
    expect(allocateRefund(split, { ...nothing, amount: cents(9_999), atMost: true }).amount).toBe(4_500);
    const empty = session([{ ...line('a', 'health', 1_000), refundedCents: cents(1_000) }]);
    expect(() => allocateRefund(empty, { ...nothing, amount: cents(1), atMost: true })).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
  });

  it('takes payment_methods alone for the refund, and never the whole of what remains [D14.41]', () => {
    const methods = [{ paymentMethodId: 'card_other', amount: cents(100) }];
    expect(allocateRefund(split, { ...nothing, methods })).toMatchObject({
      amount: 100,
      cards: [{ paymentIntentId: 'other', amount: 100 }],
    });
    const beyond = [{ paymentMethodId: 'card_other', amount: cents(1_000_000) }];
    expect(() => allocateRefund(split, { ...nothing, methods: beyond })).toThrow(
      expect.objectContaining({ code: 'refund_amount_exceeds_remaining' }),
    );
    const none = [{ paymentMethodId: 'card_other', amount: cents(0) }];
    expect(() => allocateRefund(split, { ...nothing, methods: none })).toThrow(
      expect.objectContaining({ code: 'refund_amount_invalid' }),
    );
  });

  it('keeps every line and every card within what it paid, and sums to what was asked, for any series of refunds', () => {
    const lines = fc.array(fc.tuple(fc.constantFrom('health', 'other'), fc.integer({ min: 1, max: 50_000 })), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(lines, fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 12 }), (given, amounts) => {
        let now = session(given.map(([card, captured], index) => line(String(index), card, captured)));
        for (const amount of amounts) {
          const rest = sumCents(now.cards.map((card) => cents(card.receivedCents - card.refundedCents)));
          // With two cards, a cent more than the remaining balance refunds that balance [D14.160].
          const isOffByCent = now.cards.length > 1 && rest > 0 && amount === rest + 1;
          if (amount > rest && !isOffByCent) {
            expect(() => allocateRefund(now, { ...nothing, amount: cents(amount) })).toThrow();
            continue;
          }
          const refunded = isOffByCent ? rest : amount;
          const refund = allocateRefund(now, { ...nothing, amount: cents(amount) });
          expect(refund.amount).toBe(refunded);
          expect(sumCents(refund.cards.map((card) => card.amount))).toBe(refunded);
          now = session(
            now.lines.map((one) => {
              const back = refund.lines.find((part) => part.lineId === one.id)?.amount ?? 0;
              expect(one.refundedCents + back).toBeLessThanOrEqual(one.capturedCents);
              return { ...one, refundedCents: cents(one.refundedCents + back) };
            }),
          );
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the captures that a refund draws from [D14.238]', () => {
  const amount = fc.integer({ min: 1, max: 500 });
  const capture = fc.record({ health: amount, other: amount, refunded: fc.integer({ min: 0, max: 1_000 }) });

  it('sum to what is refunded as long as enough is left, and take of each no more than is left of it', () => {
    fc.assert(
      fc.property(fc.array(capture, { minLength: 1, maxLength: 6 }), fc.nat(2_000), fc.nat(2_000), (parts, a, b) => {
        const captures = parts.map(({ health, other, refunded }, index) => ({
          captureId: `fcap_${index}`,
          amountCents: cents(health + other),
          refundedCents: cents(Math.min(refunded, health + other)),
          lines: [
            { lineId: 'health', amountCents: health },
            { lineId: 'other', amountCents: other },
          ],
        }));
        const lines = [
          { lineId: 'health', amount: a },
          { lineId: 'other', amount: b },
        ];
        const drawn = drawFromCaptures(captures, lines);
        const left = new Map(captures.map((one) => [one.captureId, one.amountCents - one.refundedCents]));
        expect(drawn.every((part) => part.amountCents > 0 && part.amountCents <= (left.get(part.captureId) ?? 0))).toBe(
          true,
        );
        const available = [...left.values()].reduce((sum, rest) => sum + rest, 0);
        expect(drawn.reduce((sum, part) => sum + part.amountCents, 0)).toBe(Math.min(a + b, available));
      }),
    );
  });
});
