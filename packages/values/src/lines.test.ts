import { expect, test } from 'vitest';
import { linesOf } from './lines.ts';

test.each(['\n', '\r', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029'])('%j is one break of a line', (lineBreak) => {
  expect(linesOf(`a${lineBreak}b${lineBreak}${lineBreak}c`)).toEqual(['a', 'b', '', 'c']);
});

test('a text without a break is one line, also an empty one', () => {
  expect(linesOf('a\tb')).toEqual(['a\tb']);
  expect(linesOf('')).toEqual(['']);
});
