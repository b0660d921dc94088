import { cents } from '@eligo/values';
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
  refundedCents: cents(refundedCents),
  disputedCents: disputedCents === undefined ? undefined : cents(disputedCents),
});
const amounts = (leftCents: number, disputedCents: number, receivedCents = 13_000) => ({
  receivedCents: cents(receivedCents),
  leftCents: cents(leftCents),
  disputedCents: cents(disputedCents),
  isLetterFeeRefunded: false,
});
const feeRefunded = (leftCents: number, disputedCents: number, receivedCents: number) => ({
  ...amounts(leftCents, disputedCents, receivedCents),
  isLetterFeeRefunded: true,
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
  ['was refunded of its line', [line(5_000, 3_000, true, 3_000)], feeRefunded(2_000, 0, 5_000), 2_000],
  ['is to be refunded', [line(5_000, 0, true, 3_000)], feeRefunded(5_000, 0, 5_000), 2_000],
  [
    'was refunded of every line',
    [line(5_000, 1_500, true, 3_000), line(5_000, 1_500, false)],
    feeRefunded(7_000, 0, 10_000),
    2_000,
  ],
  ['was refunded with a part of the plan', [line(5_000, 3_500, true, 3_000)], feeRefunded(1_500, 0, 5_000), 1_500],
  [
    'was refunded, and a dispute holds half of the rest',
    [line(5_000, 3_000, true, 3_000, 1_000)],
    feeRefunded(2_000, 1_000, 5_000),
    1_000,
  ],
  [
    'was refunded of what was captured in part',
    [line(5_000, 1_500, true, 3_000), line(5_000, 0, false)],
    feeRefunded(3_500, 0, 5_000),
    1_000,
  ],
])('takes nothing of a plan for a letter fee that %s [D14.330, D14.383]', (_what, lines, given, kept) => {
  expect(keptOfRecurring(lines, given)).toBe(kept);
});
