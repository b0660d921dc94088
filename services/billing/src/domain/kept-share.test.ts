import { cents } from '@eligo/values';
import { expect, it } from 'vitest';
import { sharesOfRecurring } from './kept-share.ts';

const line = (totalCents: number, refundedCents: number, recurs = true, feeCents = 0) => ({
  recurs,
  totalCents: cents(totalCents),
  feeCents: cents(feeCents),
  refundedCents: cents(refundedCents),
});
const amounts = (leftCents: number, disputedCents: number, receivedCents = 13_000) => ({
  receivedCents: cents(receivedCents),
  leftCents: cents(leftCents),
  disputedCents: cents(disputedCents),
});

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
  expect(sharesOfRecurring(lines, given)).toMatchObject({ ofTimeCents });
});
