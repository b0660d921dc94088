import { expect, test } from 'vitest';
import { cardInWords } from './card-in-words.ts';
import { escapedHtml } from './escaped-html.ts';

test('an escaped text opens no tag, ends no attribute and reads as it was', () => {
  expect(escapedHtml(`<a href="x" id='y'>R&D</a>`)).toBe(
    '&#60;a href=&#34;x&#34; id=&#39;y&#39;&#62;R&#38;D&#60;/a&#62;',
  );
});

test.each([
  [{ isHealthCard: true, brand: 'visa', last4: '0072' }, 'HSA/FSA card, Visa ending in 0072'],
  [{ isHealthCard: false, brand: 'visa', last4: '4242' }, 'Card, Visa ending in 4242'],
  [{ isHealthCard: false, brand: null, last4: '4242' }, 'Card, card ending in 4242'],
  [{ isHealthCard: true, brand: 'visa', last4: null }, 'HSA/FSA card'],
  [{ isHealthCard: false, brand: null, last4: null }, 'Card'],
])('a card is named by what is known of it: %o is "%s"', (card, words) => {
  expect(cardInWords(card)).toBe(words);
});
