import { expect, test } from 'vitest';
import { nextCheckDelayMs } from './charge-attempt.ts';

test('an unknown outcome is checked each ten seconds while young, each minute for a quarter of an hour, then each five minutes [D14.52]', () => {
  expect([0, 1, 2, 3, 4, 20, 21, 35, 36, 500].map(nextCheckDelayMs)).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 60_000, 60_000, 300_000, 300_000,
  ]);
  const young = Array.from({ length: 21 }, (_, checks) => nextCheckDelayMs(checks));
  expect(young.reduce((sum, delay) => sum + delay)).toBeGreaterThanOrEqual(180_000);
});
