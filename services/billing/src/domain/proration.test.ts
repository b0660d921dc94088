import { describe, expect, it } from 'vitest';
import { isTooMuch, mostPending } from './proration.ts';

const of = (changes: number, shares: number) => [
  ...Array.from({ length: changes }, () => ({ isShare: false })),
  ...Array.from({ length: shares }, () => ({ isShare: true })),
];

describe('what is pending', () => {
  it.each([
    ['as much of both as there may be', 200, 800, false],
    ['one more of a changed item', 201, 0, true],
    ['one more share', 0, 801, true],
  ])('is too much for one invoice or not: %s [D14.188]', (_what, changes, shares, isMore) => {
    expect(isTooMuch(of(changes, shares))).toBe(isMore);
    expect(mostPending).toEqual({ changes: 200, shares: 800 });
  });
});
