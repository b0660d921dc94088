import { readFileSync } from 'node:fs';
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
  ['with spaced dashes', 'card 4242 - 4242 - 4242 - 4242'],
  ['with double spaces', 'card 4242  4242  4242  4242 please'],
  ['with slashes', 'card 4242/4242/4242/4242'],
  ['with spaced slashes', 'card 4242 / 4242 / 4242 / 4242 exp 12/27'],
  ['with underscores', 'card_4242_4242_4242_4242'],
  ['with minus signs', 'card 4242\u22124242\u22124242\u22124242'],
  ['with line breaks', 'card\n4242\r\n4242\r\n4242\r\n4242'],
  ['with zero-width joiners beside spaces', 'pay 4242 \u200d4242\u2060 4242 \ufeff4242'],
  ['of American Express with spaced dashes', 'Amex 3782 - 822463 - 10005'],
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

test('of 310 titles and descriptions of products one is refused, a list of four-digit models that looks like a card number [D10.4, D14.319]', () => {
  // GTINs, UPCs, NDCs, sizes, part, model, lot and order numbers, dosages, phone numbers, tracking numbers and dates.
  const texts = readFileSync(new URL('product-texts.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  expect(texts.length).toBe(310);
  expect(texts.filter((text) => hasCardNumber(text))).toEqual([expect.stringContaining(' 4000/4050/4020/4300/4200,')]);
});

test('a long text is looked through in its length [D10.4, D14.319]', () => {
  // Of fours, one in ten passes Luhn: the first two texts are made of such numbers.
  const found = ['4242 '.repeat(100_000), '4242 / '.repeat(100_000)];
  const none = ['4 '.repeat(250_000), '\u200b4'.repeat(250_000), '9'.repeat(500_000), ' / '.repeat(200_000)];
  const almost = ['4111 __'.repeat(100_000), '4111 ____ '.repeat(100_000)];
  const before = process.cpuUsage();
  expect([...found, ...none, ...almost].filter((text) => hasCardNumber(text))).toEqual(found);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
