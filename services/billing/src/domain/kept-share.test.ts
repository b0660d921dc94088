import { cents } from '@eligo/values';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type PaidLine, sharesOfRecurring } from './kept-share.ts';

const line = (
  totalCents: number,
  refundedCents: number,
  recurs = true,
  feeCents = 0,
  disputedCents?: number,
): PaidLine => ({
  recurs,
  totalCents: cents(totalCents),
  feeCents: cents(feeCents),
  letterFeeCents: cents(0),
  letterFeeToRefundCents: cents(0),
  capturedCents: undefined,
  refundedCents: cents(refundedCents),
  disputedCents: disputedCents === undefined ? undefined : cents(disputedCents),
});
const amounts = (leftCents: number, disputedCents: number, receivedCents = 13_000) => ({
  receivedCents: cents(receivedCents),
  leftCents: cents(leftCents),
  disputedCents: cents(disputedCents),
});
/** A line that recurs, of which a letter fee is given back: what is refunded of it, and what of the letter fee is still to be refunded. */
const withLetter = (
  totalCents: number,
  letterFeeCents: number,
  refundedCents: number,
  toRefundCents: number,
  { partnerFee = 0, disputed = 0, captured = totalCents } = {},
): PaidLine => ({
  ...line(totalCents, refundedCents, true, letterFeeCents + partnerFee, disputed),
  ...{ letterFeeCents: cents(letterFeeCents), letterFeeToRefundCents: cents(toRefundCents) },
  capturedCents: cents(captured),
});
/** What is kept for the time of the lines that recur. */
const keptOfRecurring = (...given: Parameters<typeof sharesOfRecurring>) => {
  const { paidCents, takenBackCents } = sharesOfRecurring(...given);
  return paidCents - takenBackCents;
};

it.each([
  ['nothing', [line(3_000, 0), line(10_000, 0, false)], amounts(13_000, 0), 0],
  ['a refund of the plan', [line(3_000, 3_000), line(10_000, 0, false)], amounts(10_000, 0), 3_000],
  ['a refund of the device', [line(3_000, 0), line(10_000, 10_000, false)], amounts(3_000, 0), 0],
  ['a dispute, in proportion and rounded up', [line(3_000, 0), line(10_000, 0, false)], amounts(13_000, 100), 24],
  ['a dispute of what the device left', [line(3_000, 0), line(10_000, 10_000, false)], amounts(3_000, 3_000), 3_000],
  ['a dispute of more than was left', [line(3_000, 1_000), line(10_000, 0, false)], amounts(2_000, 13_000), 3_000],
  ['all, where a refund came between the two reads', [line(3_000, 1_000)], amounts(0, 0), 3_000],
])('takes back of what recurs: %s [D14.332]', (_what, lines, given, takenBackCents) => {
  expect(sharesOfRecurring(lines, given)).toMatchObject({ paidCents: 3_000, takenBackCents });
});

it.each([
  ['nothing', [line(3_000, 0), line(10_000, 0, false)], amounts(6_500, 0, 6_500), 0],
  ['what was captured of the plan', [line(3_000, 1_500), line(10_000, 0, false)], amounts(5_000, 0, 6_500), 1_500],
  ['a dispute of all', [line(3_000, 0), line(10_000, 0, false)], amounts(6_500, 6_500, 6_500), 1_500],
])(
  'counts the share of what was captured of a session in part, and takes back %s [D14.332]',
  (_what, lines, given, takenBackCents) => {
    expect(sharesOfRecurring(lines, given)).toMatchObject({ paidCents: 1_500, takenBackCents });
  },
);

it.each([
  ['all that recurs', [line(3_000, 0), line(10_000, 0, false)], amounts(13_000, 0), 3_000],
  ['that less its fees', [line(3_000, 0, true, 1_000), line(10_000, 0, false, 2_000)], amounts(13_000, 0), 2_000],
  ['what was not refunded of it', [line(3_000, 1_500, true, 1_000), line(10_000, 0, false)], amounts(11_500, 0), 1_000],
  ['what no dispute holds of it', [line(3_000, 0, true, 1_000), line(10_000, 0, false)], amounts(13_000, 6_500), 1_000],
  ['its share of a capture', [line(3_000, 0, true, 1_000), line(10_000, 0, false)], amounts(6_500, 0, 6_500), 1_000],
  ['nothing of what was sold once', [line(0, 0), line(10_000, 0, false)], amounts(10_000, 0, 10_000), 0],
  ['nothing, where all was refunded', [line(3_000, 3_000)], amounts(0, 0), 0],
])('keeps for the time of what recurs: %s [D14.3, D14.354]', (_what, lines, given, ofTimeCents) => {
  expect(keptOfRecurring(lines, given)).toBe(ofTimeCents);
});

it.each([
  ['all of it', [line(10_000, 0, true, 0, 10_000), line(30_000, 0, false, 0, 0)], amounts(40_000, 10_000, 40_000), 0],
  [
    'nothing of it',
    [line(10_000, 0, true, 0, 0), line(30_000, 0, false, 0, 30_000)],
    amounts(40_000, 30_000, 40_000),
    10_000,
  ],
  [
    'a part',
    [line(10_000, 2_000, true, 0, 3_000), line(30_000, 0, false, 0, 0)],
    amounts(38_000, 3_000, 40_000),
    5_000,
  ],
  ['no more than remains', [line(10_000, 8_000, true, 0, 3_000)], amounts(2_000, 3_000, 10_000), 0],
] as const)(
  'counts what checkout says that disputes hold of a line: %s [D14.332, D14.384]',
  (_what, lines, given, kept) => {
    expect(keptOfRecurring(lines, given)).toBe(kept);
  },
);

it('keeps for time what each line costs without its own fees [D14.354]', () => {
  const lines = [line(5_000, 5_000, true, 3_000), line(2_000, 0), line(4_000, 1_000, true, 1_000)];
  // 20.00, and three quarters of 30.00.
  expect(keptOfRecurring(lines, amounts(5_000, 0, 11_000))).toBe(2_000 + 2_250);
});

it.each([
  ['was refunded of its line', withLetter(5_000, 3_000, 3_000, 0), 2_000],
  ['is to be refunded', withLetter(5_000, 3_000, 0, 3_000), 2_000],
  ['was refunded in part, and the rest is to be', withLetter(5_000, 3_000, 1_000, 2_000), 2_000],
  ['was refunded beside a part of the plan', withLetter(5_000, 3_000, 3_500, 0), 1_500],
  ['is to be refunded beside a part of the plan', withLetter(5_000, 3_000, 500, 3_000), 1_500],
  ['was refunded with what a refund of the line had left of it', withLetter(4_500, 1_500, 1_500 + 1_000, 0), 2_000],
  ['was refunded, with another fee, which is not', withLetter(6_000, 3_000, 3_000, 0, { partnerFee: 1_000 }), 2_000],
  ['was refunded, with half of the rest', withLetter(6_000, 3_000, 4_500, 0, { partnerFee: 1_000 }), 1_000],
  [
    'was refunded, and a dispute holds half of the rest',
    withLetter(5_000, 3_000, 3_000, 0, { disputed: 1_000 }),
    1_000,
  ],
  ['was refunded of what was captured in part', withLetter(5_000, 3_000, 1_500, 0, { captured: 2_500 }), 1_000],
  ['is to be refunded, and a dispute holds half as much', withLetter(5_000, 3_000, 0, 3_000, { disputed: 1_500 }), 500],
  ['is to be refunded, and a dispute leaves as much', withLetter(5_000, 3_000, 0, 3_000, { disputed: 2_000 }), 0],
  ['is to be refunded, and a dispute leaves less', withLetter(5_000, 3_000, 0, 3_000, { disputed: 4_000 }), 0],
  ['is to be refunded, where the shop refunded more than the plan', withLetter(5_000, 3_000, 2_500, 3_000), 0],
  ['is all that the plan costs', withLetter(3_000, 3_000, 3_000, 0), 0],
] as const)('takes nothing of a plan for a letter fee that %s [D14.330, D14.383, D14.385]', (_what, plan, kept) => {
  expect(keptOfRecurring([plan, line(1_000, 0, false)], amounts(6_000, 0, 6_000))).toBe(kept);
});

it('keeps beside a dispute as much before the letter fee is refunded as after [D14.383, D14.384]', () => {
  const pending = withLetter(13_000, 3_000, 0, 3_000, { disputed: 6_500 });
  const refunded = withLetter(13_000, 3_000, 3_000, 0, { disputed: 6_500 });
  expect(keptOfRecurring([pending], amounts(13_000, 6_500))).toBe(3_500);
  expect(keptOfRecurring([refunded], amounts(10_000, 6_500))).toBe(3_500);
});

it.each([
  ['all of the plan, where the plan alone was captured', 3_000, 0, 0, 3_000, 3_000],
  ['what a dispute leaves of it', 3_000, 0, 1_000, 3_000, 2_000],
  ['what a refund leaves of it', 3_000, 500, 0, 3_000, 2_500],
  ['what was captured of it', 1_200, 0, 0, 1_200, 1_200],
  ['nothing, where the device alone was captured', 0, 0, 0, 0, 0],
] as const)(
  'counts what was captured of each line, where checkout says it: %s [D14.332, D14.386]',
  (_what, captured, refunded, disputed, paidCents, kept) => {
    const plan = { ...line(3_000, refunded, true, 0, disputed), capturedCents: cents(captured) };
    const device = { ...line(10_000, 0, false, 0, 0), capturedCents: cents(3_000 - captured) };
    const given = amounts(3_000 - refunded, disputed, 3_000);
    expect(sharesOfRecurring([plan, device], given)).toEqual({ paidCents, takenBackCents: paidCents - kept });
  },
);

it('never keeps more of a line than was captured and is neither refunded, disputed nor to be refunded as a letter fee [D14.332, D14.385]', () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const lines = fc
    .record({
      ...{ time: fc.nat(50_000), letterFee: fc.nat(50_000), partnerFee: fc.nat(5_000) },
      ...{ captured: share, refunded: share, toRefund: share, disputed: share },
    })
    .map(({ time, letterFee, partnerFee, ...of }): PaidLine => {
      const totalCents = time + letterFee + partnerFee;
      const captured = Math.floor(totalCents * of.captured);
      const refunded = Math.floor(captured * of.refunded);
      const parts = { partnerFee, captured, disputed: Math.floor((captured - refunded) * of.disputed) };
      return withLetter(totalCents, letterFee, refunded, Math.floor(letterFee * of.toRefund), parts);
    });
  fc.assert(
    fc.property(lines, (one) => {
      const { capturedCents = cents(0), refundedCents, disputedCents = cents(0), letterFeeToRefundCents } = one;
      const left = capturedCents - refundedCents;
      const { paidCents, takenBackCents } = sharesOfRecurring([one], amounts(left, disputedCents, capturedCents));
      expect(takenBackCents).toBeGreaterThanOrEqual(0);
      expect(takenBackCents).toBeLessThanOrEqual(paidCents);
      expect(paidCents - takenBackCents).toBeLessThanOrEqual(left - disputedCents);
      expect(paidCents - takenBackCents).toBeLessThanOrEqual(
        Math.max(0, left - disputedCents - letterFeeToRefundCents),
      );
    }),
    { numRuns: 2_000 },
  );
});
