import { expect, test } from 'vitest';
import { given, present } from './given.ts';

const fields = { zero: 0, empty: '', no: false, nothing: null, missing: undefined };

test('what is given has a value or is null, and may be empty', () => {
  expect(Object.keys(given(fields))).toEqual(['zero', 'empty', 'no', 'nothing']);
});

test('what is present has a value, and may be empty', () => {
  expect(Object.keys(present(fields))).toEqual(['zero', 'empty', 'no']);
});
