import { expect, test } from 'vitest';
import { assertBudgets, type ChargeBudgets, callWindowMs, defaultBudgets } from '../src/charge-budgets.ts';

test('the budgets of production leave a charge less than 9 s to be answered [D1.4]', () => {
  assertBudgets(defaultBudgets);
  expect(defaultBudgets.answerMs).toBeLessThan(9_000);
});

test.each<[string, Partial<ChargeBudgets>, RegExp]>([
  ['an answer that comes after 9 s', { answerMs: 9_000 }, /time to answer \(9000 ms\) must be below 9000 ms/],
  ['settling that takes all the time to answer', { settleMs: 8_500 }, /exceed the time to settle \(8500 ms\)/],
  ['a lease that ends before its call', { leaseMs: 8_000 }, /charge lease \(8000 ms\) must exceed/],
  ['no time to confirm beyond a call', { confirmMs: 6_000 }, /time to confirm \(6000 ms\) must exceed/],
  ['more time to confirm than the database allows', { confirmMs: 900_001 }, /be at most 900000 ms/],
])('budgets with %s are refused [D1.4]', (_what, budgets, problem) => {
  expect(() => assertBudgets({ ...defaultBudgets, ...budgets })).toThrow(problem);
});

test.each<Partial<ChargeBudgets>>([
  { answerMs: 8_999 },
  { settleMs: 8_499 },
  { leaseMs: 8_001 },
  { confirmMs: 6_001 },
  { confirmMs: 900_000 },
])('budgets just within the bounds are accepted: %j', (budgets) => {
  expect(() => assertBudgets({ ...defaultBudgets, ...budgets })).not.toThrow();
});

test('a payment that waits in no queue ends its calls so early that it is settled before 9 s, whatever a call may take [D1.4]', () => {
  expect(callWindowMs(defaultBudgets)).toBe(7_000);
  expect(callWindowMs({ ...defaultBudgets, callMs: 8_000 })).toBe(7_500);
});
