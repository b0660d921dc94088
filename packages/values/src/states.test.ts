import { expect, test } from 'vitest';
import { IllegalMove, stateTable } from './states.ts';

const session = stateTable({ open: ['paid', 'complete'], paid: ['complete'], complete: [] });

test('a state moves along its table and not otherwise', () => {
  expect(session.canMove('open', 'paid')).toBe(true);
  expect(session.canMove('paid', 'open')).toBe(false);
  expect(session.canMove('open', 'open')).toBe(false);
  expect(() => session.assertMove('complete', 'open')).toThrow(IllegalMove);
  session.assertMove('paid', 'complete');
});

test('a table knows its states', () => {
  expect(session.states).toEqual(['open', 'paid', 'complete']);
  expect(session.terminal).toEqual(['complete']);
  expect(session.isState('paid')).toBe(true);
  expect(session.isState('toString')).toBe(false);
});
