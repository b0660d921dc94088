import { type Discounting, takeDiscounts } from '@eligo/values';
import type { PricedLine, Split } from './split.ts';

/** A line of a cart; one that recurs is of each period. */
interface SoldLine extends PricedLine {
  readonly recurring: object | null;
}

/**
 * What a period of the subscription that a cart sells comes to once each coupon has ended that does not hold forever: its recurring lines, with their shares of tax and shipping
 * (decisions 14.92). No period comes to more.
 */
export function laterPeriodCents(
  lines: readonly SoldLine[],
  discounts: readonly (Discounting & { readonly coupon: unknown })[],
  split: Pick<Split, 'lines'>,
): number {
  const recurring = lines.flatMap((line, index) => {
    const part = line.recurring === null ? undefined : split.lines[index];
    return part === undefined ? [] : [{ line, part }];
  });
  const { nets } = takeDiscounts(
    recurring.map(({ line }) => line),
    recurring.map(({ part }) => part.subtotalCents),
    discounts.filter(({ coupon }) => (coupon as { readonly duration?: string }).duration === 'forever'),
  );
  const extras = recurring.map(({ part }) => part.taxCents + part.shippingCents);
  return [...nets, ...extras].reduce((sum, amount) => sum + amount, 0);
}
