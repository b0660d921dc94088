declare const unit: unique symbol;

/** Whole cents of USD in a safe integer. */
export type Cents = number & { readonly [unit]: 'cents' };

/** `n` as cents; throws a RangeError unless it is a safe integer. */
export function cents(n: number): Cents {
  if (!Number.isSafeInteger(n)) throw new RangeError(`Not whole cents in a safe integer: ${n}`);
  return (n === 0 ? 0 : n) as Cents;
}

/** Cents from an int64 of the database or of a message; the one place where the safe range is checked. */
export function centsFromInt64(value: bigint): Cents {
  if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER)) {
    throw new RangeError(`Cents outside the safe integers: ${value}`);
  }
  return Number(value) as Cents;
}

/** The sum of amounts; throws a RangeError when it leaves the safe integers. */
export function sumCents(amounts: Iterable<Cents>): Cents {
  let sum = 0;
  for (const amount of amounts) sum = cents(sum + amount);
  return sum as Cents;
}

/** `amount` × `part` ÷ `whole`, rounded down; of nothing, nothing. */
export function partOf(amount: number, part: number, whole: number): Cents {
  return whole === 0 ? cents(0) : centsFromInt64((BigInt(amount) * BigInt(part)) / BigInt(whole));
}

/** A percentage of an amount, half a cent rounded up (decisions 13). `percent` has at most four decimals. */
export function percentOf(amount: Cents, percent: number): Cents {
  const scaled = Math.round(percent * 10_000);
  if (!Number.isSafeInteger(scaled) || Math.abs(scaled / 10_000 - percent) > 1e-9) {
    throw new RangeError(`A percentage has at most four decimals: ${percent}`);
  }
  const product = BigInt(amount) * BigInt(scaled) * 2n + 1_000_000n;
  const floor = product / 2_000_000n - (product < 0n && product % 2_000_000n !== 0n ? 1n : 0n);
  return centsFromInt64(floor);
}

/**
 * Splits `total` in proportion to `weights` (non-negative safe integers) by the largest remainder: each part is within a cent of its exact
 * share, the parts sum to the total, and ties go to the earlier part. If all weights are zero the total is spread evenly, so that a tax on
 * zero-priced lines still has a place. A negative total is the mirror image. Throws a RangeError for money without parts to take it.
 */
export function allocate(total: Cents, weights: readonly number[]): Cents[] {
  for (const weight of weights) {
    if (!Number.isSafeInteger(weight) || weight < 0) {
      throw new RangeError(`A weight must be a non-negative safe integer: ${weight}`);
    }
  }
  if (weights.length === 0) {
    if (total !== 0) throw new RangeError(`No weights to allocate ${total} cents to`);
    return [];
  }
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const largest = weights.reduce((most, weight) => Math.max(weight, most), 0);
  // Where every product is a safe integer, numbers are exact, and twenty times as fast as big integers.
  const isExact = Number.isSafeInteger(sum) && Number.isSafeInteger(Math.abs(total) * Math.max(largest, 1));
  return isExact && sum > 0 ? allocateExactly(total, weights, sum) : allocateLarge(total, weights);
}

function allocateExactly(total: Cents, weights: readonly number[], sum: number): Cents[] {
  const sign = total < 0 ? -1 : 1;
  const whole = Math.abs(total);
  let missing = whole;
  const remainders: number[] = [];
  const parts = weights.map((weight) => {
    const product = whole * weight;
    const remainder = product % sum;
    const amount = (product - remainder) / sum;
    remainders.push(remainder);
    missing -= amount;
    return amount;
  });
  if (missing > 0) {
    // The sort is stable, so ties go to the earlier part.
    const byRemainder = [...remainders.keys()].sort((a, b) => (remainders[b] ?? 0) - (remainders[a] ?? 0));
    for (const index of byRemainder.slice(0, missing)) parts[index] = (parts[index] ?? 0) + 1;
  }
  return parts.map((part) => cents(sign * part));
}

function allocateLarge(total: Cents, weights: readonly number[]): Cents[] {
  const sign = total < 0 ? -1 : 1;
  const whole = BigInt(Math.abs(total));
  const given = weights.map(BigInt);
  const givenSum = given.reduce((sum, weight) => sum + weight, 0n);
  const shares = givenSum === 0n ? given.map(() => 1n) : given;
  const shareSum = givenSum === 0n ? BigInt(shares.length) : givenSum;

  const parts = shares.map((share, index) => {
    const product = whole * share;
    return { index, amount: product / shareSum, remainder: product % shareSum };
  });
  const missing = Number(whole - parts.reduce((sum, part) => sum + part.amount, 0n));
  const byRemainder = [...parts].sort((a, b) =>
    a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1,
  );
  for (const part of byRemainder.slice(0, missing)) part.amount += 1n;
  return parts.map((part) => cents(sign * Number(part.amount)));
}

/** Cents as dollars: 123456 is $1,234.56. */
export function dollars(cents: number): string {
  // Made once: a format costs fifty times what formatting does.
  inDollars ??= new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
  return inDollars.format(cents / 100);
}

let inDollars: Intl.NumberFormat | undefined;
