/** The digits of a product code as a GTIN-14, or undefined when it has the form of none or its check digit is wrong. */
export function gtin14(code: string): string | undefined {
  const digits = digitsOf(code);
  if (digits === undefined || !gtinLengths.has(digits.length)) return undefined;
  return isChecked(digits) ? digits.padStart(14, '0') : undefined;
}

/** The same for a UPC: eight digits are the short form UPC-E, if they check as one, and else a GTIN-8. */
export function gtin14OfUpc(code: string): string | undefined {
  const digits = digitsOf(code);
  if (digits?.length === 8) {
    const long = upcAOfUpcE(digits);
    if (long !== undefined && isChecked(long)) return long.padStart(14, '0');
  }
  return gtin14(code);
}

/** The codes to look a product up by, in order: its own first, then the one that it refers to. */
export function lookupCodes(product: {
  readonly upcCode: string | null;
  readonly gtin: string | null;
  readonly referenceGtin: string | null;
}): string[] {
  const codes = [
    product.gtin === null ? undefined : gtin14(product.gtin),
    product.upcCode === null ? undefined : gtin14OfUpc(product.upcCode),
    product.referenceGtin === null ? undefined : gtin14(product.referenceGtin),
  ];
  return [...new Set(codes.filter((code) => code !== undefined))];
}

const gtinLengths = new Set([8, 12, 13, 14]);

function digitsOf(code: string): string | undefined {
  if (code.length > 40) return undefined;
  const digits = code.replace(/[\s-]/g, '');
  return /^\d+$/.test(digits) ? digits : undefined;
}

// GS1 general specifications, 7.9: from the right, weights 3 and 1 in turn, the check digit brings the sum to a multiple of ten.
function isChecked(digits: string): boolean {
  let sum = 0;
  for (let i = digits.length - 2, weight = 3; i >= 0; i--, weight = 4 - weight)
    sum += (digits.charCodeAt(i) - 48) * weight;
  return (10 - (sum % 10)) % 10 === digits.charCodeAt(digits.length - 1) - 48;
}

// The last of the six digits in the middle says where the zeros were left out.
function upcAOfUpcE(digits: string): string | undefined {
  const system = digits.charAt(0);
  if (system !== '0' && system !== '1') return undefined;
  const [a, b, c, d, e, last] = digits.slice(1, 7).split('');
  const check = digits.charAt(7);
  if (last === '0' || last === '1' || last === '2') return `${system}${a}${b}${last}0000${c}${d}${e}${check}`;
  if (last === '3') return `${system}${a}${b}${c}00000${d}${e}${check}`;
  if (last === '4') return `${system}${a}${b}${c}${d}00000${e}${check}`;
  return `${system}${a}${b}${c}${d}${e}0000${last}${check}`;
}
