/**
 * Whether a text is a card number: with spaces and dashes stripped 14 to 19 digits that pass Luhn and have an issuer's prefix with that
 * issuer's length. A bare Luhn test would refuse one in ten GTINs and millisecond times.
 */
export function isCardNumber(text: string): boolean {
  if (text.length < fewestDigits || text.length > maxSpacedLength) return false;
  return isNumberOfCard(text.replace(/[\s-]/g, ''));
}

/**
 * Whether a text has a card number in it: digits in one piece, or in the groups that cards are printed with. Between two groups are one to three spaces,
 * dashes, dots, slashes or underscores. Full-width digits count, and invisible characters do not. Other groupings are numbers of other kinds: sizes, prices, phone numbers.
 */
export function hasCardNumber(text: string): boolean {
  if (isCardNumber(text)) return true;
  // Nearly all texts end here.
  if (!hasEnoughDigits(text)) return false;
  const plain = text.normalize('NFKC').replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, '');
  for (const [, found = ''] of plain.matchAll(candidates)) {
    const digits = found.replace(/\D/g, '');
    // The last group of four and three may be another number.
    if (isNumberOfCard(digits) || (found.length > digits.length && isNumberOfCard(digits.slice(0, 16)))) return true;
  }
  return false;
}

const fewestDigits = 14;
const maxSpacedLength = 60;
const issuerForm =
  /^(?:4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|(?:6011|64\d\d|65\d\d)\d{12,15}|3[068]\d{12})$/;

// Three: ` - ` and ` / `. The minus sign is no dash.
const gap = '[\\s.\\p{Pd}\\u2212/_]{1,3}';
// In one piece; in fours; as American Express and Diners print them; in two groups.
const groupings = [
  '\\d{14,19}',
  `\\d{4}(?:${gap}\\d{4}){3}(?:${gap}\\d{1,3})?`,
  `\\d{4}${gap}\\d{6}${gap}\\d{4,5}`,
  `\\d{8}${gap}\\d{8}`,
  `\\d{6}${gap}\\d{13}`,
];
// They may overlap, so each is only looked at where it begins, and over a bounded length.
const candidates = new RegExp(`(?<!\\d)(?=(${groupings.join('|')})(?!\\d))\\d+`, 'gu');

function isNumberOfCard(digits: string): boolean {
  return /^\d{14,19}$/.test(digits) && issuerForm.test(digits) && passesLuhn(digits);
}

function hasEnoughDigits(text: string): boolean {
  if (text.length < fewestDigits) return false;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // Those of ASCII, and whatever may become one of them.
    if ((code >= 48 && code <= 57) || code > 255) digits += 1;
    if (digits >= fewestDigits) return true;
  }
  return false;
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
