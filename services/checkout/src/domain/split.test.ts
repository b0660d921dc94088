import { Failure } from '@eligo/failures';
import { cents, type Discounting } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cart, type PricedLine, type Split, splitCart } from './split.ts';

const c = cents;

describe('discounts (decisions 13)', () => {
  test('a percentage is rounded half a cent up on the sum, and spread by the largest remainder [D13.2]', () => {
    const split = splitCart(cart({ lines: [line(333), line(333), line(333)], discounts: [percent(10)] }));
    // 99.9 cents, so 100: one line takes the odd cent.
    expect(split.discountCents).toEqual([100]);
    expect(split.lines.map((l) => l.discountCents)).toEqual([34, 33, 33]);
    expect(splitCart(cart({ lines: [line(5)], discounts: [percent(10)] })).discountCents).toEqual([1]);
  });

  test('restricted ones come first, whatever the order listed, each on what the earlier ones left [D6.1]', () => {
    const lines = [line(1000, { productId: 'a' }), line(1000, { productId: 'b' })];
    const split = splitCart(cart({ lines, discounts: [percent(50), { ...percent(50), products: ['a'] }] }));
    expect(split.discountCents).toEqual([750, 500]);
    expect(split.lines.map((l) => l.discountCents)).toEqual([750, 500]);
  });

  test('the same coupon may be listed several times [D1.5]', () => {
    const split = splitCart(cart({ lines: [line(1000)], discounts: [percent(10), percent(10)] }));
    expect(split.discountCents).toEqual([100, 90]);
  });

  test('no line goes below zero: an amount takes at most what is left [D1.5]', () => {
    const split = splitCart(cart({ lines: [line(300), line(200)], discounts: [amount(400), amount(400)] }));
    expect(split.discountCents).toEqual([400, 100]);
    expect(split.total.totalCents).toBe(0);
  });

  test('a coupon restricted to a price takes nothing off another', () => {
    const lines = [line(1000, { priceId: 'x' }), line(1000, { priceId: 'y' })];
    const split = splitCart(cart({ lines, discounts: [{ ...amount(5000), prices: ['y'] }] }));
    expect(split.lines.map((l) => l.discountCents)).toEqual([0, 1000]);
  });
});

describe('shipping, tax and fees (decisions 6)', () => {
  test('each fee is spread by itself over the net amounts [SESS-2]', () => {
    const lines = [line(100, { eligibilityClass: 'vision' }), line(100)];
    const split = splitCart(cart({ lines, feeCents: [c(1), c(1), c(1)] }));
    expect(split.lines.map((l) => l.feeCents)).toEqual([3, 0]);
    expect(split.total.eligibleCents).toBe(103);
  });

  test('zero-priced lines share a tax evenly [D1.5]', () => {
    const split = splitCart(cart({ lines: [line(0), line(0), line(0)], taxCents: c(10) }));
    expect(split.lines.map((l) => l.taxCents)).toEqual([4, 3, 3]);
  });

  test('a line that a discount made free carries no shipping, tax or fee: they follow the net amounts', () => {
    const lines = [line(500, { productId: 'a' }), line(500, { productId: 'b' })];
    const others = { shippingCents: c(799), taxCents: c(41), feeCents: [c(20), c(5)] };
    const split = splitCart(cart({ lines, discounts: [{ ...percent(100), products: ['a'] }], ...others }));
    expect(split.lines.map((l) => [l.shippingCents, l.taxCents, l.feeCents])).toEqual([
      [0, 0, 0],
      [799, 41, 25],
    ]);
  });
});

describe('eligibility', () => {
  test('a letter line counts in the eligible amount and in no bucket [D13.2]', () => {
    const split = splitCart(
      cart({
        lines: [
          line(1000, { eligibilityClass: 'letter_of_medical_necessity' }),
          line(500, { eligibilityClass: 'service' }),
        ],
      }),
    );
    expect(split.total.eligibleCents).toBe(1500);
    expect(split.buckets).toEqual({ iias: 0, prescription: 0, vision: 0, service: 500 });
    expect(split.letterRequired).toBe(true);
  });

  test('a letter that the customer has makes its line need none, and stays eligible [D14.78]', () => {
    const lines = [line(1000, { eligibilityClass: 'letter_of_medical_necessity', productId: 'known' })];
    const split = splitCart(cart({ lines, productsWithLetter: new Set(['known']), letterFeeCents: c(2_500) }));
    expect(split.letterRequired).toBe(false);
    expect(split.total).toMatchObject({ eligibleCents: 1000, feeCents: 0 });
  });

  test('the fee of a letter is on the lines that need one, in proportion, and once', () => {
    const letter = { eligibilityClass: 'letter_of_medical_necessity' };
    const lines = [
      line(3000, letter),
      line(1000, letter),
      line(500, { ...letter, productId: 'known' }),
      line(900, { eligibilityClass: 'service' }),
      line(700),
    ];
    const split = splitCart(cart({ lines, productsWithLetter: new Set(['known']), letterFeeCents: c(1_000) }));
    expect(split.lines.map(({ feeCents }) => feeCents)).toEqual([750, 250, 0, 0, 0]);
    expect(split.total).toMatchObject({ feeCents: 1_000, eligibleCents: 6_400 });
    const free = splitCart(cart({ lines: [line(0, letter), line(700)], letterFeeCents: c(1_000) }));
    expect(free).toMatchObject({ letterRequired: false, total: { feeCents: 0 } });
  });

  test('what nothing classified is not eligible', () => {
    const split = splitCart(
      cart({ lines: [line(1000, { eligibilityClass: null }), line(10, { eligibilityClass: 'not_eligible' })] }),
    );
    expect(split.total.eligibleCents).toBe(0);
    expect(split.letterRequired).toBe(false);
  });
});

test('amounts that cannot be counted exactly are a 422 at the line', () => {
  const attempt = () => splitCart(cart({ lines: [line(1), { ...line(Number.MAX_SAFE_INTEGER), quantity: 2 }] }));
  expect(attempt).toThrow(Failure);
  try {
    attempt();
  } catch (error) {
    expect((error as Failure).violations?.[0]?.loc).toEqual([
      'body',
      'checkout_session',
      'line_items',
      '1',
      'quantity',
    ]);
  }
});

test('parts sum to wholes, no line is below zero, and the buckets are disjoint parts of the eligible amount: 30,000 carts [D4.7]', () => {
  fc.assert(
    fc.property(anyCart(), (given) => {
      expectWhole(given, splitCart(given));
    }),
    { numRuns: 30_000 },
  );
}, 120_000);

function expectWhole(given: Cart, split: Split): void {
  const letterFee = split.letterRequired ? (given.letterFeeCents ?? 0) : 0;
  const fees = given.feeCents.reduce((a, b) => a + b, letterFee);
  const subtotal = given.lines.reduce((a, l) => a + l.unitAmountCents * l.quantity, 0);
  const discount = split.discountCents.reduce((a, b) => a + b, 0);
  const sums = { subtotal: 0, discount: 0, tax: 0, shipping: 0, fee: 0, total: 0, eligible: 0, plain: 0 };
  for (const [i, l] of split.lines.entries()) {
    const parts = [
      l.subtotalCents,
      l.discountCents,
      l.taxCents,
      l.shippingCents,
      l.feeCents,
      l.totalCents,
      l.eligibleCents,
    ];
    if (parts.some((part) => !Number.isSafeInteger(part) || part < 0))
      throw new Error(`line ${i} has a part below zero`);
    if (l.totalCents !== l.subtotalCents - l.discountCents + l.taxCents + l.shippingCents + l.feeCents) {
      throw new Error(`line ${i} does not sum up`);
    }
    if (l.eligibleCents !== 0 && l.eligibleCents !== l.totalCents) throw new Error(`line ${i} is half eligible`);
    sums.subtotal += l.subtotalCents;
    sums.discount += l.discountCents;
    sums.tax += l.taxCents;
    sums.shipping += l.shippingCents;
    sums.fee += l.feeCents;
    sums.total += l.totalCents;
    sums.eligible += l.eligibleCents;
    const bucketless = ['letter_of_medical_necessity', 'not_eligible', null];
    if (!bucketless.includes(given.lines[i]?.eligibilityClass ?? null)) sums.plain += l.eligibleCents;
  }
  const { total, buckets } = split;
  expect([sums.subtotal, sums.discount, sums.tax, sums.shipping, sums.fee]).toEqual([
    subtotal,
    discount,
    given.taxCents,
    given.shippingCents,
    fees,
  ]);
  expect([sums.total, sums.eligible]).toEqual([total.totalCents, total.eligibleCents]);
  expect(total.totalCents).toBe(subtotal - discount + given.shippingCents + given.taxCents + fees);
  expect(buckets.iias + buckets.prescription + buckets.vision + buckets.service).toBe(sums.plain);
}

function anyCart(): fc.Arbitrary<Cart> {
  const ids = ['a', 'b', 'c'];
  const money = fc
    .oneof(fc.constant(0), fc.constant(1), fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 1e9 }))
    .map(c);
  const classes = fc.constantFrom(
    null,
    'not_eligible',
    'auto_substantiation',
    'private_label',
    'letter_of_medical_necessity',
    'prescription',
    'vision',
    'service',
  );
  const lines = fc.record({
    priceId: fc.constantFrom(...ids),
    productId: fc.constantFrom(...ids),
    unitAmountCents: money,
    quantity: fc.integer({ min: 1, max: 50 }),
    eligibilityClass: classes,
  });
  const discounts = fc.record({
    off: fc.oneof(
      money.map((amountCents) => ({ amountCents })),
      fc.integer({ min: 1, max: 10_000 }).map((basisPoints) => ({ basisPoints })),
    ),
    products: fc.subarray(ids, { maxLength: 2 }),
    prices: fc.subarray(ids, { maxLength: 1 }),
  });
  return fc.record({
    lines: fc.array(lines, { minLength: 1, maxLength: 6 }),
    discounts: fc.array(discounts, { maxLength: 4 }),
    shippingCents: money,
    taxCents: money,
    feeCents: fc.array(money, { maxLength: 3 }),
    productsWithLetter: fc.subarray(ids).map((products) => new Set(products)),
    letterFeeCents: money,
  });
}

function cart(parts: Partial<Cart>): Cart {
  return { lines: [], discounts: [], shippingCents: c(0), taxCents: c(0), feeCents: [], ...parts };
}

function line(unitAmount: number, parts: Partial<PricedLine> = {}): PricedLine {
  return {
    priceId: 'p',
    productId: 'q',
    unitAmountCents: c(unitAmount),
    quantity: 1,
    eligibilityClass: null,
    ...parts,
  };
}

function percent(percentOff: number): Discounting {
  return { off: { basisPoints: percentOff * 100 }, products: [], prices: [] };
}

function amount(amountCents: number): Discounting {
  return { off: { amountCents: c(amountCents) }, products: [], prices: [] };
}
