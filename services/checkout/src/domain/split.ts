import { Failure } from '@eligo/failures';
import { allocate, type Cents, cents, type Discounting, takeDiscounts } from '@eligo/values';
import { bucketOf, isEligible, needsLetter } from './eligibility.ts';

/** A line as the catalog priced and classified it. */
export interface PricedLine {
  readonly priceId: string;
  readonly productId: string;
  readonly unitAmountCents: Cents;
  readonly quantity: number;
  readonly eligibilityClass: string | null;
}

export interface Cart {
  readonly lines: readonly PricedLine[];
  readonly discounts: readonly Discounting[];
  readonly shippingCents: Cents;
  readonly taxCents: Cents;
  readonly feeCents: readonly Cents[];
  /** The products for which the customer has a valid letter already. */
  readonly productsWithLetter?: ReadonlySet<string>;
  /** What a letter costs the shopper, once for a session that needs any. */
  readonly letterFeeCents?: Cents;
}

/** A line's part of every amount of the cart. */
export interface LineSplit {
  readonly subtotalCents: Cents;
  readonly discountCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly feeCents: Cents;
  readonly totalCents: Cents;
  readonly eligibleCents: Cents;
}

/** The whole split; each amount of `total` is the sum of its lines' parts. */
export interface Split {
  readonly lines: readonly LineSplit[];
  /** What each discount took off, in the order given. */
  readonly discountCents: readonly Cents[];
  readonly total: LineSplit;
  /** Disjoint parts of the eligible amount; lines that need a letter are in none of them. */
  readonly buckets: {
    readonly iias: Cents;
    readonly prescription: Cents;
    readonly vision: Cents;
    readonly service: Cents;
  };
  readonly letterRequired: boolean;
}

/**
 * Splits a cart (decisions 6 and 13): discounts that are restricted to some lines first, then general ones, each in the order listed and on
 * what the earlier ones left; a percentage is rounded half a cent up on the sum that it applies to, and the result spread by the largest
 * remainder. Then shipping, tax and each fee by itself, pro rata over the lines' net amounts, or evenly if all of these are zero; the fee of a
 * letter over the lines that need one. Throws a 422 when the amounts leave the safe integers.
 */
export function splitCart(cart: Cart): Split {
  const subtotals = cart.lines.map(subtotalOf);
  const { nets, taken } = takeDiscounts(cart.lines, subtotals, cart.discounts);
  const shipping = allocate(cart.shippingCents, nets);
  const tax = allocate(cart.taxCents, nets);
  const partnerFees = spreadEach(cart.feeCents, nets);
  const needing = cart.lines.map((line, i) => {
    const hasAmount = at(nets, i) + at(shipping, i) + at(tax, i) + at(partnerFees, i) > 0;
    return hasAmount && needsLetter(line.eligibilityClass) && cart.productsWithLetter?.has(line.productId) !== true;
  });
  const fees = addLetterFee(cart, needing, partnerFees, nets);
  const lines = cart.lines.map((line, i): LineSplit => {
    const net = at(nets, i);
    const parts = { taxCents: at(tax, i), shippingCents: at(shipping, i), feeCents: at(fees, i) };
    const totalCents = bounded(net + parts.taxCents + parts.shippingCents + parts.feeCents, []);
    return {
      subtotalCents: at(subtotals, i),
      discountCents: cents(at(subtotals, i) - net),
      ...parts,
      totalCents,
      eligibleCents: isEligible(line.eligibilityClass) ? totalCents : cents(0),
    };
  });
  return {
    lines,
    discountCents: taken,
    total: totalOf(lines),
    buckets: bucketsOf(cart.lines, lines),
    letterRequired: needing.includes(true),
  };
}

function subtotalOf({ unitAmountCents, quantity }: PricedLine, index: number): Cents {
  return bounded(unitAmountCents * quantity, [String(index), 'quantity']);
}

/** Each line's part of fees that are spread one by one over the net amounts of all lines. */
export function spreadEach(amounts: readonly Cents[], nets: readonly Cents[]): Cents[] {
  const sums = nets.map(() => cents(0));
  for (const amount of amounts) {
    for (const [i, part] of allocate(amount, nets).entries()) sums[i] = bounded(at(sums, i) + part, []);
  }
  return sums;
}

// On the lines that need the letter, in proportion to their net amounts: the card that pays for them pays for the letter.
function addLetterFee(
  { letterFeeCents = cents(0) }: Cart,
  needing: readonly boolean[],
  fees: readonly Cents[],
  nets: readonly Cents[],
): readonly Cents[] {
  if (letterFeeCents === 0 || !needing.includes(true)) return fees;
  const ofNeeding = nets.map((net, i) => (needing[i] === true ? net : 0));
  const weights = ofNeeding.some((net) => net > 0) ? ofNeeding : needing.map(Number);
  return allocate(letterFeeCents, weights).map((part, i) => bounded(part + at(fees, i), []));
}

function totalOf(lines: readonly LineSplit[]): LineSplit {
  const sum = (part: keyof LineSplit): Cents =>
    lines.reduce((total, line) => bounded(total + line[part], []), cents(0));
  return {
    subtotalCents: sum('subtotalCents'),
    discountCents: sum('discountCents'),
    taxCents: sum('taxCents'),
    shippingCents: sum('shippingCents'),
    feeCents: sum('feeCents'),
    totalCents: sum('totalCents'),
    eligibleCents: sum('eligibleCents'),
  };
}

function bucketsOf(lines: readonly PricedLine[], splits: readonly LineSplit[]): Split['buckets'] {
  const buckets = { iias: cents(0), prescription: cents(0), vision: cents(0), service: cents(0) };
  for (const [i, line] of lines.entries()) {
    const bucket = bucketOf(line.eligibilityClass);
    if (bucket !== undefined) buckets[bucket] = cents(buckets[bucket] + at(splits, i).eligibleCents);
  }
  return buckets;
}

// A cart whose amounts cannot be counted exactly is refused before anything is made of it.
function bounded(amount: number, place: readonly string[]): Cents {
  if (Number.isSafeInteger(amount)) return cents(amount);
  throw Failure.invalid(
    ['body', 'checkout_session', 'line_items', ...place],
    'amount_too_large',
    'Amounts are too large',
  );
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`No item ${index}`);
  return item;
}
