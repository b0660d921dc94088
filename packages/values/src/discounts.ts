import { allocate, type Cents, cents, percentOf, sumCents } from './cents.ts';

/** Takes a fixed amount or a percentage (hundredths of a percent) off the lines that it applies to: all of them, when it names none. */
export interface Discounting {
  readonly off: { readonly amountCents: Cents } | { readonly basisPoints: number };
  readonly products: readonly string[];
  readonly prices: readonly string[];
}

/** What a discount looks at of a line. */
export interface DiscountedLine {
  readonly priceId: string;
  readonly productId: string;
}

/**
 * Takes discounts off lines (decisions 6 and 13): those that are restricted to some lines first, then general ones, each in the order listed and on what the
 * earlier ones left; a percentage is rounded half a cent up on the sum that it applies to, and the result spread by the largest remainder. No line goes
 * below zero. `nets` is what is left of each line, `taken` what each discount took off.
 */
export function takeDiscounts(
  lines: readonly DiscountedLine[],
  subtotals: readonly Cents[],
  discounts: readonly Discounting[],
): { nets: Cents[]; taken: Cents[] } {
  const nets = [...subtotals];
  const taken = discounts.map(() => cents(0));
  for (const restricted of [true, false]) {
    for (const [index, discount] of discounts.entries()) {
      if (isRestricted(discount) !== restricted) continue;
      const weights = nets.map((net, i) => (appliesTo(discount, lines[i]) ? net : 0));
      const base = sumCents(weights.map(cents));
      const amount =
        'basisPoints' in discount.off ? percentOf(base, discount.off.basisPoints / 100) : discount.off.amountCents;
      const whole = cents(Math.min(amount, base));
      if (whole === 0) continue;
      // No part exceeds its weight, since the whole does not exceed their sum.
      for (const [i, part] of allocate(whole, weights).entries()) nets[i] = cents((nets[i] ?? 0) - part);
      taken[index] = whole;
    }
  }
  return { nets, taken };
}

/** Whether a discount is for some lines only. */
export function isRestricted(discount: Discounting): boolean {
  return discount.products.length > 0 || discount.prices.length > 0;
}

function appliesTo(discount: Discounting, line: DiscountedLine | undefined): boolean {
  if (line === undefined) return false;
  return (
    !isRestricted(discount) || discount.products.includes(line.productId) || discount.prices.includes(line.priceId)
  );
}
