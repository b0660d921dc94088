import { describe, expect, it } from 'vitest';
import { foldedText } from '../src/domain/folded-text.ts';

describe('two spellings are one name', () => {
  const spellings: readonly (readonly [what: string, one: string, other: string])[] = [
    ['whatever their case', 'Oat Milk', 'OAT mILK'],
    ['with blanks around them, or more of them', '  oat \t milk\n', 'oat milk'],
    ['of full width', 'Ｏａｔ', 'oat'],
    ['with a ligature', 'ﬁg', 'fig'],
    ['composed or not', 'café', 'cafe\u0301'],
    ['with ß or ss', 'Straße', 'STRASSE'],
    ['with either small sigma', 'ΟΔΟΣ', 'οδοσ'],
    ['with either small sigma before a blank of no width', 'ας b', 'ας\ufeffb'],
    ['composed or not, where the small letters have no composed capital', 'ΐ', 'Ϊ\u0301'],
  ];
  it.each(spellings)('%s', (_what, one, other) => {
    expect(foldedText(one)).toBe(foldedText(other));
  });

  it('and others are not', () => {
    const names = ['oat milk', 'oatmilk', 'oat-milk', 'oat', 'öat'];
    expect(new Set(names.map(foldedText)).size).toBe(names.length);
  });
});
