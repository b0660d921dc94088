import { expect, test } from 'vitest';
import { hasCardNumber, screen } from '../src/index.ts';

test.each([
  ['at the end of a sentence', 'Please charge 4242424242424242.'],
  ['between letters', 'card4242424242424242exp'],
  ['in fours, after another number', 'order 12 4242 4242 4242 4242 exp 12 27'],
  ['with dots', 'my card: 4242.4242.4242.4242, thanks'],
  ['with dashes of typography', 'No. 4242–4242–4242–4242 (HSA)'],
  ['in full-width digits', 'カード４２４２４２４２４２４２４２４２です'],
  ['with zero-width spaces', 'pay 4242\u200b4242\u200b4242\u200b4242 now'],
  ['with no-break spaces', 'pay 4242\u00a04242\u00a04242\u00a04242 now'],
  ['of American Express', 'Amex 3782 822463 10005 of Ada'],
  ['of Diners', 'Diners 3056 930902 5904'],
  ['of nineteen digits', 'pan=4000000000000000006;'],
])('one %s is found in a longer text [D10.4]', (_what, text) => {
  expect(hasCardNumber(text)).toBe(true);
  expect(screen({ product: { description: text } }, 'body')?.type).toBe('card_number_not_allowed');
});

test.each([
  ['sizes', 'Sizes 4.5 5.5 6.5 7.5 8.5 9.5 10.5 11.5 12.5 13.5'],
  ['a phone number', 'Call +1 (424) 242-4242 or 424-242-4242 ext. 42'],
  ['GTINs', 'GTIN 00036000291452, UPC 036000291452, EAN 4006381333931'],
  ['dates and times', '2026-11-22 22:14:03.424 to 2026-12-01 00:00:00.000'],
  ['a number that fails Luhn', 'Please charge 4242424242424241.'],
  ['a number within more digits', 'ref 99424242424242424299'],
  ['an id of a tracking service', '1Z 999 AA1 01 2345 6784; 9400 1000 0000 0000 0000 00'],
])('%s are none in a longer text [D10.4]', (_what, text) => expect(hasCardNumber(text)).toBe(false));

test('a long text is looked through in its length [D10.4]', () => {
  const texts = ['4 '.repeat(250_000), '4242 '.repeat(100_000), '\u200b4'.repeat(250_000), '9'.repeat(500_000)];
  const before = process.cpuUsage();
  // Of fours, one in ten passes Luhn: the second text is made of such numbers.
  expect(texts.map((text) => hasCardNumber(text))).toEqual([false, true, false, false]);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
