/** Decimals of every nutrient that is stored, and of serving sizes. */
export const storedDecimals = 6;

/** A decimal number: `units` / 10^`scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** Reads a decimal number, also in the exponent form that JavaScript prints for small ones; undefined when it is none. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

/** `value × factor / divisor` with `storedDecimals` decimals, half rounded up. None of the three is negative. */
export function scaleDecimal(value: Decimal, factor: Decimal, divisor: Decimal): Decimal {
  const numerator = value.units * factor.units * 10n ** BigInt(divisor.scale + storedDecimals);
  const denominator = divisor.units * 10n ** BigInt(value.scale + factor.scale);
  return { units: roundedQuotient(numerator, denominator), scale: storedDecimals };
}

/** The number with `storedDecimals` decimals, half rounded up. */
export function roundDecimal(value: Decimal): Decimal {
  return scaleDecimal(value, one, one);
}

/** Whether `a` ≤ `b`, exactly. */
export function isAtMost(a: Decimal, b: Decimal): boolean {
  return a.units * 10n ** BigInt(b.scale) <= b.units * 10n ** BigInt(a.scale);
}

/** The number in plain digits, without zeros at the end. */
export function formatDecimal({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

const one: Decimal = { units: 1n, scale: 0 };

function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}
