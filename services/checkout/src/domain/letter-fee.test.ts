import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capturedLetterFee, type LineWithFees, letterFeesGivenBack } from './letter-fee.ts';
import type { SessionFee, SessionLine } from './session.ts';
import { splitCart } from './split.ts';

const letter = 'letter_of_medical_necessity';
const money = fc.integer({ min: 1, max: 50_000 }).map(cents);
const line = fc.record({
  net: money,
  needsLetter: fc.boolean(),
  captured: fc.double({ min: 0, max: 1, noNaN: true }),
  refunded: fc.double({ min: 0, max: 1, noNaN: true }),
});

const cart = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 8 }).filter((all) => all.some(({ needsLetter }) => needsLetter)),
  partnerFees: fc.array(money, { maxLength: 3 }),
  letterFee: money,
});

type Cart = typeof cart extends fc.Arbitrary<infer Of> ? Of : never;

// A session of these lines, as it was split, with what is captured of each line and refunded of that.
function sessionOf({ lines, partnerFees, letterFee }: Cart) {
  const priced = lines.map(({ net, needsLetter }) => ({
    ...{ priceId: newId('price'), productId: newId('product'), unitAmountCents: net, quantity: 1 },
    eligibilityClass: needsLetter ? letter : null,
  }));
  const amounts = { shippingCents: cents(799), taxCents: cents(313), feeCents: partnerFees, letterFeeCents: letterFee };
  const split = splitCart({ lines: priced, discounts: [], ...amounts });
  const fees = [...partnerFees, letterFee].map((amountCents): SessionFee => {
    return {
      id: newId('fee'),
      amountCents,
      name: null,
      description: null,
      feeType: null,
      applied: true,
      waivedReason: null,
    };
  });
  return {
    session: { fees, letterFeeStatus: 'pending' as const, letterFeeCents: letterFee },
    lines: split.lines.map((part, i) => {
      const captured = Math.floor(part.totalCents * (lines[i]?.captured ?? 0));
      return {
        ...{ id: String(i), letterFeeGivenBackCents: cents(0), letterFeeRefundedCents: cents(0) },
        ...{ amountSubtotalCents: part.subtotalCents, amountDiscountCents: part.discountCents },
        ...{ amountFeeCents: part.feeCents, amountTotalCents: part.totalCents, paymentIntentId: 'fpi_1' },
        amountCapturedCents: cents(captured),
        amountRefundedCents: cents(Math.floor(captured * (lines[i]?.refunded ?? 0))),
      } as SessionLine;
    }),
  };
}

it('is captured whole with the lines that need a letter, whatever fees the partner has, and in proportion with parts of them [D14.179]', () => {
  fc.assert(
    fc.property(cart, (given) => {
      const { session, lines } = sessionOf(given);
      const whole = lines.map((one) => ({
        ...one,
        amountCapturedCents: one.amountTotalCents,
        amountRefundedCents: cents(0),
      }));
      const fee = { capturedCents: given.letterFee, remainingCents: given.letterFee, paymentIntentId: 'fpi_1' };
      expect(capturedLetterFee(session, whole)).toMatchObject(fee);
      const refunded = whole.map((one) => ({ ...one, amountRefundedCents: one.amountTotalCents }));
      expect(capturedLetterFee(session, refunded)).toMatchObject({ remainingCents: 0 });
      const others = whole.map((one, i) =>
        given.lines[i]?.needsLetter ? { ...one, amountCapturedCents: cents(0) } : one,
      );
      expect(capturedLetterFee(session, others)).toEqual({
        capturedCents: 0,
        remainingCents: 0,
        remainingOfLines: [],
        paymentIntentId: null,
      });
    }),
  );
});

it('never gives back more than remains of the lines that it is a part of [D14.179]', () => {
  fc.assert(
    fc.property(cart, (given) => {
      const { session, lines } = sessionOf(given);
      const own = lines.filter((_, i) => given.lines[i]?.needsLetter);
      const rest = own.reduce((sum, one) => sum + one.amountCapturedCents - one.amountRefundedCents, 0);
      const { capturedCents, remainingCents, remainingOfLines } = capturedLetterFee(session, lines);
      expect(remainingOfLines.reduce((sum, { amountCents }) => sum + amountCents, 0)).toBe(remainingCents);
      for (const { lineId, amountCents } of remainingOfLines) {
        const line = own.find(({ id }) => id === lineId);
        expect(amountCents).toBeLessThanOrEqual((line?.amountCapturedCents ?? 0) - (line?.amountRefundedCents ?? 0));
        expect(amountCents).toBeLessThanOrEqual(line?.amountFeeCents ?? 0);
      }
      expect(capturedCents).toBeLessThanOrEqual(given.letterFee);
      expect(remainingCents).toBeGreaterThanOrEqual(0);
      expect(remainingCents).toBeLessThanOrEqual(Math.min(rest, capturedCents));
    }),
  );
});

describe('the letter fee that is given back', () => {
  const fees = [2_000, 3_000].map((amountCents) => ({ amountCents: cents(amountCents) }) as SessionFee);
  /** A fee of the partner of 20.00 on both lines alike, and a letter fee of 30.00 on the first one: 60.00 and 30.00. */
  const session = (refunded: number, letterFeeStatus: 'refunded' | 'paid' = 'refunded') => ({
    ...{ fees, letterFeeStatus, letterFeeCents: cents(3_000), amountRefundedCents: cents(refunded) },
  });
  const lines = (first: Partial<Record<keyof LineWithFees, number>>, second: typeof first = {}): LineWithFees[] =>
    [first, second].map((given, i) => {
      const total = i === 0 ? 6_000 : 3_000;
      const whole = {
        ...{
          amountSubtotalCents: 2_000,
          amountDiscountCents: 0,
          amountFeeCents: total - 2_000,
          amountTotalCents: total,
        },
        ...{
          amountCapturedCents: total,
          amountRefundedCents: 0,
          letterFeeGivenBackCents: 0,
          letterFeeRefundedCents: 0,
        },
        ...given,
      };
      return { id: String(i), ...whole } as unknown as LineWithFees;
    });
  const given = (letterFeeGivenBackCents: number, letterFeeRefundedCents: number, amountRefundedCents: number) => ({
    ...{ letterFeeGivenBackCents, letterFeeRefundedCents, amountRefundedCents },
  });

  it.each([
    ['is still to be refunded', session(0), lines(given(3_000, 0, 0)), 3_000],
    ['is to be refunded beside another refund', session(900), lines(given(3_000, 0, 900)), 3_000],
    [
      'is to be refunded without what a refund of its line took of it',
      session(1_500),
      lines(given(2_000, 0, 1_500)),
      2_000,
    ],
    ['is refunded', session(3_000), lines(given(3_000, 3_000, 3_000)), 0],
    ['is refunded beside another refund', session(5_000), lines(given(3_000, 3_000, 5_000)), 0],
    [
      'is refunded in part, as where a dispute holds its card',
      session(1_000),
      lines(given(3_000, 1_000, 1_000)),
      2_000,
    ],
    ['was refunded by an earlier release', session(3_000), lines(given(0, 0, 2_000), given(0, 0, 1_000)), 1_000],
    ['is to be refunded beside as large a refund of the shop', session(3_000), lines(given(3_000, 0, 3_000)), 3_000],
    [
      'is to be refunded beside two that sum to it',
      session(3_000),
      lines(given(3_000, 0, 1_000), given(0, 0, 2_000)),
      3_000,
    ],
    [
      'was refunded by an earlier process of refunds, which notes nothing',
      session(3_000),
      lines(given(3_000, 0, 2_000), given(0, 0, 1_000)),
      3_000,
    ],
    ['was refunded as far as it remained', session(1_000), lines(given(1_000, 1_000, 1_000)), 0],
  ] as const)('of a line %s [D14.383, D14.385]', (_what, of, all, pendingCents) => {
    expect([...letterFeesGivenBack(of, all)]).toEqual([['0', { wholeCents: 3_000, pendingCents }]]);
  });

  it('is a part of the lines alone that give some of it back: the fee that the shop keeps of another counts as any fee [D14.383, D14.385]', () => {
    const fees = [{ amountCents: cents(6_000) } as SessionFee];
    const both = { ...session(4_000), fees, letterFeeCents: cents(6_000) };
    const [kept, cut] = lines(
      { ...given(0, 0, 3_000), amountFeeCents: 3_000 },
      { ...given(1_000, 1_000, 1_000), amountFeeCents: 3_000 },
    );
    const all = [kept, cut].flatMap((line) => line ?? []);
    expect([...letterFeesGivenBack(both, all)]).toEqual([['1', { wholeCents: 3_000, pendingCents: 0 }]]);
  });

  it.each([
    ['is kept', session(3_000, 'paid'), lines(given(0, 0, 3_000))],
    ['was refunded by an earlier release, beside another refund', session(3_500), lines(given(0, 0, 3_500))],
    ['is to be refunded by an earlier release', session(0), lines(given(0, 0, 0))],
    ['was not refunded by the processor', session(400), lines(given(0, 0, 400))],
  ])('is not known by its lines where it %s [D14.383, D14.385]', (_what, of, all) => {
    expect([...letterFeesGivenBack(of, all)]).toEqual([]);
  });
});
