import { cents } from '@eligo/values';
import fc from 'fast-check';
import type { HeldSession } from '../src/domain/capture-allocation.ts';
import type { SessionLine } from '../src/domain/session.ts';
import type { Cart } from '../src/domain/split.ts';
import { hold, type Name, names, sum } from './held-carts.ts';

/** A line as the shop captures it: its amount, and what the shop states beside it. */
interface ClientAmount extends Record<Name, number> {
  readonly line: SessionLine;
  readonly amount: number;
}

/** Divides an amount by the largest remainders; of equal ones the last line is first. */
function divideAsClient(amount: number, weights: readonly number[]): number[] {
  const whole = sum(weights);
  if (whole === 0)
    return amount === 0
      ? weights.map(() => 0)
      : divideAsClient(
          amount,
          weights.map(() => 1),
        );
  const parts = weights.map((weight) => Math.floor((amount * weight) / whole));
  const byRemainder = weights
    .map((weight, index) => ({ index, remainder: (amount * weight) % whole }))
    .toSorted((a, b) => b.remainder - a.remainder || b.index - a.index);
  for (const { index } of byRemainder.slice(0, amount - sum(parts))) parts[index] = (parts[index] ?? 0) + 1;
  return parts;
}

/** What the shop captures of each line, by its own rounding. A component that is `inside` is in the amount of its line. */
export function clientAmounts(
  { lines, session }: HeldSession,
  inside: Record<Name, boolean>,
  spreadsLast: boolean,
): ClientAmount[] {
  const prices = lines.map(
    (line) => line.amountTotalCents - line.amountTaxCents - line.amountShippingCents + line.amountDiscountCents,
  );
  const discounted = prices.map((price, index) => ((lines[index] as SessionLine).amountDiscountCents > 0 ? price : 0));
  const divide = spreadsLast
    ? divideAsClient
    : (amount: number, weights: readonly number[]) => divideAsClient(amount, weights.toReversed()).toReversed();
  const discount = divide(session.amountDiscountCents, discounted);
  const nets = prices.map((price, index) => price - (discount[index] ?? 0));
  const [tax, shipping] = [divide(session.amountTaxCents, nets), divide(session.amountShippingCents, nets)];
  return lines.map((line, index) => {
    const own = { tax: tax[index] ?? 0, shipping: shipping[index] ?? 0, discount: discount[index] ?? 0 };
    const beside = Object.fromEntries(names.map((name) => [name, inside[name] ? 0 : own[name]])) as Record<
      Name,
      number
    >;
    const added = (name: Name) => (inside[name] ? own[name] : 0);
    return { line, amount: (prices[index] ?? 0) + added('tax') + added('shipping') - added('discount'), ...beside };
  });
}

const added = fc.oneof(fc.constant(0), fc.nat(400));
const units = fc.oneof(
  fc
    .record({ unit: fc.integer({ min: 2, max: 3_000 }), count: fc.integer({ min: 1, max: 6 }) })
    .map(({ unit, count }) => Array<number>(count).fill(unit)),
  fc.array(fc.integer({ min: 100, max: 5_000 }), { minLength: 1, maxLength: 6 }),
);

/** Sessions that are held, with the parcels in which a shop captures them, and which components it states inside the lines. */
export const orders = fc
  .record({
    units,
    classes: fc.array(fc.constantFrom('auto_substantiation' as const, null), { minLength: 6, maxLength: 6 }),
    discount: fc.option(fc.record({ thousandths: fc.integer({ min: 1, max: 500 }), product: fc.option(fc.nat(2)) })),
    ...{ tax: added, shipping: added, isOne: fc.boolean(), spreadsLast: fc.boolean() },
    ...{ parcelOf: fc.array(fc.nat(5), { minLength: 6, maxLength: 6 }) },
    inside: fc.record({ tax: fc.boolean(), shipping: fc.boolean(), discount: fc.boolean() }),
  })
  .map(({ units: prices, classes, discount, tax, shipping, isOne, spreadsLast, parcelOf, inside }) => {
    const cart: Cart = {
      lines: prices.map((unit, index) => ({
        ...{ priceId: `price_${index}`, productId: `product_${index >> 1}`, unitAmountCents: cents(unit), quantity: 1 },
        eligibilityClass: classes[index] ?? null,
      })),
      discounts:
        discount === null
          ? []
          : [
              {
                off: { amountCents: cents(Math.ceil((Math.min(...prices) * discount.thousandths) / 1_001)) },
                ...{ products: discount.product === null ? [] : [`product_${discount.product}`], prices: [] },
              },
            ],
      ...{ shippingCents: cents(shipping), taxCents: cents(tax), feeCents: [] },
    };
    const eligible = cart.lines.filter(({ eligibilityClass }) => eligibilityClass !== null).length;
    const isMixed = eligible > 0 && eligible < cart.lines.length;
    const parcels = [0, 1, 2, 3, 4, 5].map((parcel) =>
      prices.flatMap((_, index) => (parcelOf[index] === parcel ? [index] : [])),
    );
    return { held: hold(cart, isOne || !isMixed ? 'one' : 'two'), parcels, inside, spreadsLast };
  })
  .filter(({ held }) => held.session.amountTotalCents > 0);
