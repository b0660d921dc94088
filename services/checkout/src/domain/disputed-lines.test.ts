import { cents } from '@eligo/values';
import { expect, it } from 'vitest';
import { disputedOfLines } from './disputed-lines.ts';

const line = (id: string, paymentIntentId: string, captured: number, refunded = 0, lineId = id) => ({
  ...{ id, lineId, paymentIntentId },
  ...{ capturedCents: cents(captured), refundedCents: cents(refunded) },
});
const card = (id: string, received: number, refunded: number, disputed: number) => ({
  id,
  amountReceivedCents: cents(received),
  amountRefundedCents: cents(refunded),
  amountDisputedCents: cents(disputed),
});

it.each([
  [
    'all of it',
    [line('a', 'health', 100), line('b', 'other', 300)],
    [card('health', 100, 0, 100), card('other', 300, 0, 0)],
    { a: 100 },
  ],
  [
    'in proportion, rounded up',
    [line('a', 'health', 30), line('b', 'health', 100)],
    [card('health', 130, 0, 1)],
    { a: 1, b: 1 },
  ],
  [
    'of what is not refunded',
    [line('a', 'health', 100, 100), line('b', 'health', 100)],
    [card('health', 200, 100, 50)],
    { a: 0, b: 50 },
  ],
  ['no more than that', [line('a', 'health', 100, 40)], [card('health', 100, 40, 100)], { a: 60 }],
  [
    'of both parts of a line that two cards paid',
    [line('a health', 'health', 100, 0, 'a'), line('a other', 'other', 50, 0, 'a'), line('b', 'other', 50)],
    [card('health', 100, 0, 10), card('other', 100, 0, 20)],
    { a: 20, b: 10 },
  ],
])('holds of the lines of a disputed card: %s [D14.332, D14.384]', (_what, lines, cards, expected) => {
  expect(Object.fromEntries(disputedOfLines(lines, cards))).toEqual(expected);
});
