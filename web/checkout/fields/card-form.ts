/** What was typed, once it is a card. */
export interface TypedCard {
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
}

export type CardFault = 'number_incomplete' | 'number_wrong' | 'expiry_incomplete' | 'expiry_past' | 'cvc_incomplete';

/** Digits in groups, as they stand on cards: four by four, or 4-6-5. */
export function groupNumber(text: string): string {
  const digits = text.replace(/\D/g, '').slice(0, 19);
  const groups = isAmex(digits)
    ? [digits.slice(0, 4), digits.slice(4, 10), digits.slice(10, 15)]
    : digits.match(/.{1,4}/g);
  return (groups ?? []).filter(Boolean).join(' ');
}

/** A month and a year of two digits, with a slash between them as soon as the month is clear. */
export function groupExpiry(text: string): string {
  let digits = text.replace(/\D/g, '');
  // What a browser fills in may have a year of four digits.
  if (digits.length === 6 && digits.slice(2, 4) === '20') digits = digits.slice(0, 2) + digits.slice(4);
  if (/^[2-9]/.test(digits)) digits = `0${digits}`;
  digits = digits.slice(0, 4);
  return digits.length > 2 ? `${digits.slice(0, 2)} / ${digits.slice(2)}` : digits;
}

export function faultOfNumber(text: string): CardFault | undefined {
  const digits = text.replace(/\D/g, '');
  if (digits.length < 13) return 'number_incomplete';
  return passesLuhn(digits) ? undefined : 'number_wrong';
}

export function faultOfExpiry(text: string, now: Date): CardFault | undefined {
  const [month, year] = expiryOf(text);
  if (month === undefined || year === undefined || month < 1 || month > 12) return 'expiry_incomplete';
  const isPast = year < now.getFullYear() || (year === now.getFullYear() && month < now.getMonth() + 1);
  return isPast ? 'expiry_past' : undefined;
}

export function faultOfCvc(text: string, number: string): CardFault | undefined {
  const length = isAmex(number.replace(/\D/g, '')) ? 4 : 3;
  return text.replace(/\D/g, '').length === length ? undefined : 'cvc_incomplete';
}

/** The card of fields without a fault. */
export function cardOf(number: string, expiry: string, cvc: string): TypedCard {
  const [expMonth = 0, expYear = 0] = expiryOf(expiry);
  return { number: number.replace(/\D/g, ''), expMonth, expYear, cvc: cvc.replace(/\D/g, '') };
}

function expiryOf(text: string): [number?, number?] {
  const digits = text.replace(/\D/g, '');
  return digits.length === 4 ? [Number(digits.slice(0, 2)), 2_000 + Number(digits.slice(2))] : [];
}

function isAmex(digits: string): boolean {
  return /^3[47]/.test(digits);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
