import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allocate, cents, centsFromInt64, percentOf, sumCents } from './cents.ts';

const amount = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
const weights = fc.array(fc.integer({ min: 0, max: 1_000_000_000 }), { minLength: 1, maxLength: 100 });

describe('allocate by the largest remainder', () => {
  test('gives the same parts of numbers that leave the safe integers when multiplied, and of those that do not', () => {
    const small = fc.array(fc.integer({ min: 0, max: 2 ** 24 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 26), max: 2 ** 26 }), small, (total, w) => {
        // Whole numbers of 2^28 are in the same proportion; a total above 2^2 times them is no safe integer.
        expect(allocate(cents(total), w)).toEqual(
          allocate(
            cents(total),
            w.map((weight) => weight * 2 ** 28),
          ),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('parts sum to the whole [D6.1]', () => {
    fc.assert(
      fc.property(amount, weights, (total, w) => sumCents(allocate(cents(total), w)) === total),
      { numRuns: 5_000 },
    );
  });

  test('each part is within a cent of its exact share', () => {
    fc.assert(
      fc.property(amount, weights, (total, w) => {
        const sum = w.reduce((a, b) => a + b, 0);
        fc.pre(sum > 0);
        const parts = allocate(cents(total), w);
        return parts.every((part, i) => Math.abs(part - (total * (w[i] ?? 0)) / sum) < 1 + 1e-6);
      }),
    );
  });

  test('a larger weight never gets less', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), weights, (total, w) => {
        const parts = allocate(cents(total), w);
        return w.every((a, i) => w.every((b, j) => a <= b || (parts[i] ?? 0) >= (parts[j] ?? 0)));
      }),
      { numRuns: 200 },
    );
  });

  test('ties go to the earlier part', () => {
    expect(allocate(cents(100), [1, 1, 1])).toEqual([34, 33, 33]);
    expect(allocate(cents(5), [1, 1])).toEqual([3, 2]);
    expect(allocate(cents(-5), [1, 1])).toEqual([-3, -2]);
  });

  test('a weight of zero gets nothing, unless all are zero: then evenly', () => {
    expect(allocate(cents(7), [0, 1, 0])).toEqual([0, 7, 0]);
    expect(allocate(cents(7), [0, 0])).toEqual([4, 3]);
  });

  test('stays exact where a product leaves the safe integers', () => {
    const max = Number.MAX_SAFE_INTEGER;
    const parts = allocate(cents(max), [max, max, 1]);
    expect(sumCents(parts)).toBe(max);
    expect(parts[2]).toBe(1);
  });

  test('refuses what cannot be split', () => {
    expect(allocate(cents(0), [])).toEqual([]);
    expect(() => allocate(cents(1), [])).toThrow(RangeError);
    expect(() => allocate(cents(1), [-1])).toThrow(RangeError);
    expect(() => allocate(cents(1), [0.5])).toThrow(RangeError);
  });
});

describe('cents', () => {
  test('are safe integers', () => {
    for (const bad of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
      expect(() => cents(bad)).toThrow(RangeError);
    expect(Object.is(cents(-0), 0)).toBe(true);
  });

  test('cross int64 intact and refuse what is outside the safe integers', () => {
    fc.assert(fc.property(fc.maxSafeInteger(), (n) => centsFromInt64(BigInt(n)) === cents(n)));
    expect(() => centsFromInt64(2n ** 53n)).toThrow(RangeError);
    expect(() => centsFromInt64(-(2n ** 53n))).toThrow(RangeError);
  });
});

describe('percentOf', () => {
  test('rounds half a cent up', () => {
    expect(percentOf(cents(50), 1)).toBe(1);
    expect(percentOf(cents(49), 1)).toBe(0);
    expect(percentOf(cents(1_005), 10)).toBe(101);
    expect(percentOf(cents(999), 33.3333)).toBe(333);
    expect(percentOf(cents(-50), 1)).toBe(0);
  });

  test('of 100 is the whole and of 0 nothing', () => {
    fc.assert(fc.property(amount, (n) => percentOf(cents(n), 100) === n && percentOf(cents(n), 0) === 0));
  });

  test('refuses more than four decimals', () => {
    expect(() => percentOf(cents(100), 0.00001)).toThrow(RangeError);
  });
});
