import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { capturedLetterFee } from './letter-fee.ts';
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
      expect(capturedLetterFee(session, whole)).toEqual(fee);
      const refunded = whole.map((one) => ({ ...one, amountRefundedCents: one.amountTotalCents }));
      expect(capturedLetterFee(session, refunded)).toMatchObject({ remainingCents: 0 });
      const others = whole.map((one, i) =>
        given.lines[i]?.needsLetter ? { ...one, amountCapturedCents: cents(0) } : one,
      );
      expect(capturedLetterFee(session, others)).toEqual({
        capturedCents: 0,
        remainingCents: 0,
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
      const { capturedCents, remainingCents } = capturedLetterFee(session, lines);
      expect(capturedCents).toBeLessThanOrEqual(given.letterFee);
      expect(remainingCents).toBeGreaterThanOrEqual(0);
      expect(remainingCents).toBeLessThanOrEqual(Math.min(rest, capturedCents));
    }),
  );
});
