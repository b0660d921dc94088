import { cents, sumCents } from '@eligo/values';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { divideLines, healthcareOfShares, linesOfTenders } from './line-tenders.ts';
import { allocateRefund } from './refund-allocation.ts';

const classes = ['auto_substantiation', 'letter_of_medical_necessity', 'prescription', null] as const;
const cart = fc
  .array(fc.record({ total: fc.nat(5_000), class: fc.constantFrom(...classes) }), { minLength: 1, maxLength: 8 })
  .map((lines) =>
    lines.map(({ total, class: eligibilityClass }, index) => ({
      ...{ id: `line ${index}`, amountTotalCents: cents(total), eligibilityClass },
      amountEligibleCents: cents(eligibilityClass === null ? 0 : total),
    })),
  );
const sold = cart.chain((lines) => {
  const eligible = sumCents(lines.map((line) => line.amountEligibleCents));
  return fc.record({ lines: fc.constant(lines), part: fc.nat(eligible).map(cents) });
});

it('divides any cart so that the health card pays its part, eligible lines alone, and the other card the rest [D14.183]', () => {
  fc.assert(
    fc.property(sold, ({ lines, part }) => {
      const shares = divideLines(lines, part);
      expect(sumCents(shares.map((share) => share.healthCents))).toBe(part);
      for (const [index, line] of lines.entries()) {
        const share = shares[index];
        expect(share?.lineId).toBe(line.id);
        expect((share?.healthCents ?? 0) + (share?.otherCents ?? 0)).toBe(line.amountTotalCents);
        expect(share?.healthCents).toBeLessThanOrEqual(line.amountEligibleCents);
        expect(share?.otherCents).toBeGreaterThanOrEqual(0);
      }
      // One line at most is paid with both, and a line that needs a letter only where the others are paid whole.
      expect(shares.filter((share) => share.healthCents > 0 && share.otherCents > 0).length).toBeLessThanOrEqual(1);
      const buckets = Object.values(healthcareOfShares(lines, shares));
      expect(sumCents(buckets)).toBeLessThanOrEqual(part);
    }),
    { numRuns: 2_000 },
  );
});

it('pays items that need no letter first [D14.183]', () => {
  const lineOf = (id: string, eligibilityClass: string) => ({
    ...{ id, eligibilityClass, amountTotalCents: cents(1_000), amountEligibleCents: cents(1_000) },
  });
  const lines = [lineOf('letter', 'letter_of_medical_necessity'), lineOf('drops', 'prescription')];
  const shares = divideLines(lines, cents(1_200));
  expect(shares.map((share) => share.healthCents)).toEqual([200, 1_000]);
  expect(healthcareOfShares(lines, shares)).toMatchObject({ prescriptionCents: 1_000, iiasCents: 0 });
});

it('refuses a part that is more than what is eligible', () => {
  const [line] = [{ id: 'a', eligibilityClass: null, amountTotalCents: cents(900), amountEligibleCents: cents(0) }];
  expect(() => divideLines([line], cents(1))).toThrow(RangeError);
});

it('never refunds more to a card than it paid, of a session or of a line, for any parts in any order [D14.183]', () => {
  const asked = fc.array(
    fc.record({ line: fc.nat(8), amount: fc.integer({ min: 1, max: 6_000 }), byLine: fc.boolean() }),
    {
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(sold, asked, ({ lines, part }, wanted) => {
      const paid = divideLines(lines, part).flatMap(({ lineId, healthCents, otherCents }) =>
        [
          { paymentIntentId: 'health', amountCents: healthCents },
          { paymentIntentId: 'other', amountCents: otherCents },
        ]
          .filter(({ amountCents }) => amountCents > 0)
          .map((tender) => ({ lineId, ...tender, refunded: 0 })),
      );
      const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
      for (const { line, amount, byLine } of wanted) {
        const id = lines[line % lines.length]?.id ?? '';
        const session = {
          ...{ captured: none, refunded: none },
          cards: ['health', 'other'].map((paymentIntentId) => {
            const own = paid.filter((tender) => tender.paymentIntentId === paymentIntentId);
            const receivedCents = sumCents(own.map(({ amountCents }) => amountCents));
            return {
              ...{ paymentIntentId, paymentMethodId: paymentIntentId, receivedCents },
              refundedCents: cents(own.reduce((sum, tender) => sum + tender.refunded, 0)),
            };
          }),
          lines: lines.flatMap((one) => {
            const whole = { id: one.id, priceId: one.id, productId: one.id, ...componentsOf };
            const own = paid.filter(({ lineId }) => lineId === one.id);
            const parts = own.map((tender) => ({
              ...{ paymentIntentId: tender.paymentIntentId, amountCents: tender.amountCents },
              ...{ limitCents: tender.amountCents, takenCents: cents(tender.refunded) },
            }));
            return linesOfTenders(whole, parts).map(({ limitCents, takenCents, ...rest }) => ({
              ...rest,
              ...{ capturedCents: limitCents, refundedCents: takenCents },
            }));
          }),
        };
        const instruction = byLine
          ? { entries: [{ priceId: id, amount: cents(amount) }], methods: [] }
          : { amount: cents(amount), entries: [], methods: [] };
        let allocation: ReturnType<typeof allocateRefund>;
        try {
          allocation = allocateRefund(session, instruction);
        } catch {
          continue;
        }
        for (const taken of allocation.lines) {
          const tender = paid.find(
            (one) => one.lineId === taken.lineId && one.paymentIntentId === taken.paymentIntentId,
          );
          if (tender === undefined) throw new Error('a refund is to a card that did not pay the line');
          tender.refunded += taken.amount;
          expect(tender.refunded).toBeLessThanOrEqual(tender.amountCents);
        }
        expect(sumCents(allocation.lines.map((taken) => taken.amount))).toBe(allocation.amount);
      }
    }),
    { numRuns: 500 },
  );
});

const componentsOf = { taxCents: cents(0), shippingCents: cents(0), discountCents: cents(0) };
