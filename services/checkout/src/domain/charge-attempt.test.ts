import { expect, test } from 'vitest';
import { nextCheckDelayMs } from './charge-attempt.ts';

test('an unknown outcome is looked at after 1 s, 5 s, 30 s, each minute for a quarter of an hour, then each five minutes [D14.52]', () => {
  expect([0, 1, 2, 3, 17, 18, 500].map(nextCheckDelayMs)).toEqual([
    1_000, 5_000, 30_000, 60_000, 60_000, 300_000, 300_000,
  ]);
});
