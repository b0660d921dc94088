import { cents } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import {
  allHeld,
  allocateCapture,
  type CaptureAllocation,
  type HeldSession,
} from '../src/domain/capture-allocation.ts';
import type { SessionLine } from '../src/domain/session.ts';
import type { Cart } from '../src/domain/split.ts';
import { after, hold, restOf, stated } from './held-carts.ts';

const ordered = (unit: readonly number[], more: Partial<Cart> = {}): Cart => ({
  lines: unit.map((amount, index) => ({
    ...{ priceId: `price_${index}`, productId: `product_${index}`, unitAmountCents: cents(amount), quantity: 1 },
    eligibilityClass: index === 0 ? 'auto_substantiation' : null,
  })),
  ...{ discounts: [], shippingCents: cents(0), taxCents: cents(0), feeCents: [] },
  ...more,
});
const off = (amount: number, products: string[] = []) => ({
  ...{ off: { amountCents: cents(amount) }, products, prices: [] },
});
const exceeds = expect.objectContaining({ code: 'capture_amount_exceeds_authorized' });

describe('a capture that states', () => {
  const asked = (held: HeldSession, amounts: readonly number[], some: Record<string, number> = {}) => {
    const lines = held.lines.flatMap((line, index) => {
      const amount = amounts[index] ?? 0;
      return amount === 0 ? [] : [[line, amount] as const];
    });
    const components = Object.fromEntries(Object.entries(some).map(([name, amount]) => [name, cents(amount)]));
    return allocateCapture(held, stated(lines, components));
  };
  const taken = ({ lines }: CaptureAllocation) => lines.map(({ lineId, amount }) => [lineId, amount]);
  const general = () => hold(ordered([4_000, 2_000], { discounts: [off(600)] }), 'two');
  const restricted = () => hold(ordered([4_000, 2_000], { discounts: [off(600, ['product_1'])] }), 'two');
  const added = () => hold(ordered([1_000, 2_000], { taxCents: cents(100), shippingCents: cents(100) }), 'two');
  const taxed = () => hold(ordered([1_000, 2_000], { taxCents: cents(100) }), 'two');
  const inPart = () => hold(ordered([4_000, 2_000], { discounts: [off(600)] }), { part: 3_000 });

  const oneProduct = () => {
    const cart = ordered([1_000, 2_000]);
    return hold({ ...cart, lines: cart.lines.map((line) => ({ ...line, productId: 'product' })) }, 'two');
  };

  it.each<[string, () => HeldSession, number[], Record<string, number>, [string, number][]]>([
    [
      'lines before their discount',
      general,
      [4_000, 2_000],
      { discount: 600 },
      [
        ['line 0', 3_600],
        ['line 1', 1_800],
      ],
    ],
    ['one line before its own discount', general, [4_000], { discount: 400 }, [['line 0', 3_600]]],
    ['a part of a line and its share of the discount', general, [2_000], { discount: 200 }, [['line 0', 1_800]]],
    [
      'parts of two lines and their shares of the discount',
      general,
      [1_000, 1_500],
      { discount: 250 },
      [
        ['line 0', 900],
        ['line 1', 1_350],
      ],
    ],
    [
      'parts of two lines and the discount of one of them',
      restricted,
      [2_000, 1_000],
      { discount: 500 },
      [
        ['line 0', 2_000],
        ['line 1', 500],
      ],
    ],
    [
      'a part of a line and the whole of another one with their shares of the tax',
      taxed,
      [500, 2_000],
      { tax: 83 },
      [
        ['line 0', 516],
        ['line 1', 2_067],
      ],
    ],
    [
      'a discount that is of one line',
      restricted,
      [4_000, 2_000],
      { discount: 600 },
      [
        ['line 0', 4_000],
        ['line 1', 1_400],
      ],
    ],
    [
      'a line of two cards before its discount',
      inPart,
      [4_000],
      { discount: 400 },
      [
        ['line 0', 3_000],
        ['line 0', 600],
      ],
    ],
    [
      'the whole order that the client divides another way',
      added,
      [1_000, 2_000],
      { tax: 100, shipping: 100 },
      [
        ['line 0', 1_066],
        ['line 1', 2_134],
      ],
    ],
    [
      'all of it by lines that the client rounds another way',
      added,
      [1_067, 2_133],
      {},
      [
        ['line 0', 1_066],
        ['line 1', 2_134],
      ],
    ],
    ['a line and its own tax, on its card', added, [0, 2_000], { tax: 67 }, [['line 1', 2_067]]],
    [
      'a line and all the tax, of which the other line has a part',
      added,
      [0, 2_000],
      { tax: 100 },
      [
        ['line 0', 33],
        ['line 1', 2_067],
      ],
    ],
    [
      'components alone',
      added,
      [],
      { tax: 100, shipping: 50 },
      [
        ['line 0', 50],
        ['line 1', 100],
      ],
    ],
  ])('%s takes them of their own lines and cards [D14.100, D14.303]', (_, held, amounts, some, expected) => {
    const capture = asked(held(), amounts, some);
    expect(taken(capture).toSorted()).toEqual(expected);
    expect(capture).toMatchObject(some);
  });

  it.each<[string, () => HeldSession, number[], Record<string, number>]>([
    ['more than a line has beside its discount', general, [4_001], { discount: 400 }],
    ['more than a line has beside the discount of another one', restricted, [4_100], { discount: 600 }],
    ['more than a line has and the discount that is stated', general, [4_000], { discount: 398 }],
    ['more than the lines have and the discount that is stated', general, [4_000, 2_000], { discount: 599 }],
    ['more tax than there is', added, [1_000], { tax: 101 }],
    ['a cent of another card in a part of the order', added, [1_067], {}],
    ['two cents of another card in a part of the order', added, [1_068, 2_000], {}],
  ])('%s is refused [D14.100, D14.303]', (_, held, amounts, some) => {
    expect(() => asked(held(), amounts, some)).toThrow(exceeds);
  });

  it.each<[string, number, number, number, [string, string, number][]]>([
    ['a price alone with an amount', 0, 500, 0, [['line 1', 'other', 500]]],
    [
      'amounts of all',
      500,
      500,
      300,
      [
        ['line 0', 'health', 800],
        ['line 1', 'other', 500],
      ],
    ],
    [
      'more of the product than its first line has',
      500,
      1_800,
      600,
      [
        ['line 0', 'health', 1_000],
        ['line 1', 'other', 1_900],
      ],
    ],
  ])(
    'two prices of a product and the product, %s, takes each price on its own card [D14.303]',
    (_, first, second, product, expected) => {
      const entries = [
        { priceId: 'price_0', amount: cents(first) },
        { priceId: 'price_1', amount: cents(second) },
        { productId: 'product', amount: cents(product) },
      ];
      for (const some of [entries, entries.toReversed()]) {
        const { lines } = allocateCapture(oneProduct(), { entries: some, isFinal: false });
        expect(lines.map(({ lineId, paymentIntentId, amount }) => [lineId, paymentIntentId, amount])).toEqual(expected);
      }
    },
  );

  it('one price of a product and the product takes the price on its line, and the product in the order of the lines [D14.303]', () => {
    const entries = [
      { productId: 'product', amount: cents(500) },
      { priceId: 'price_1', amount: cents(1_800) },
    ];
    expect(taken(allocateCapture(oneProduct(), { entries, isFinal: false }))).toEqual([
      ['line 0', 500],
      ['line 1', 1_800],
    ]);
  });

  it('a discount one cent short takes the cent of another line, first of the same card [D14.303]', () => {
    const thirds = hold(ordered([1_000, 1_000, 1_000], { discounts: [off(100)] }), 'one');
    expect(thirds.lines.map((line) => line.amountDiscountCents)).toEqual([34, 33, 33]);
    const first = asked(thirds, [1_000], { discount: 33 });
    expect(first).toMatchObject({ amount: 967, discount: 33 });
    expect(taken(first)[0]).toEqual(['line 0', 966]);
    const second = asked(after(thirds, first), [0, 1_000], { discount: 33 });
    expect(second.amount).toBe(967);
    const end = after(after(thirds, first), second);
    expect(asked(end, [0, 0, 1_000], { discount: 34 })).toMatchObject({ amount: 966, isFinal: true });
    expect(asked(general(), [4_000], { discount: 399 }).cards.map(({ amount }) => amount)).toEqual([3_600, 1]);
  });

  it('a fee is captured with its line by the entry that has it, and released without it [D14.303]', () => {
    const cart = ordered([4_000, 2_000], { discounts: [off(600)] });
    const letter = cart.lines.map((line, index) =>
      index === 0 ? { ...line, eligibilityClass: 'letter_of_medical_necessity' as const } : line,
    );
    const held = hold({ ...cart, lines: letter, letterFeeCents: cents(1_500) }, 'two');
    const first = asked(held, [5_500], { discount: 400 });
    expect(taken(first)).toEqual([['line 0', 5_100]]);
    const last = asked(after(held, first), [0, 2_000], { discount: 200 });
    expect(last).toMatchObject({ amount: 1_800, isFinal: true });
    const without = asked(held, [4_000], { discount: 400 });
    expect(taken(without)).toEqual([['line 0', 3_600]]);
    expect(restOf(after(held, without).lines[0] as SessionLine)).toBe(1_500);
  });

  it('a line again is refused, also where as much remains of another line, or of both cards [D14.303]', () => {
    const held = hold(ordered([1_000, 1_000]), 'two');
    const first = asked(held, [1_000]);
    expect(() => asked(after(held, first), [1_000])).toThrow(exceeds);
    expect(() => asked(held, [2_000])).toThrow(exceeds);
  });

  it('exactly what remains takes it, wherever the client has put the discount and the rounding [D14.303]', () => {
    const first = asked(general(), [4_000], { discount: 600 });
    expect(first.amount).toBe(3_400);
    expect(asked(after(general(), first), [0, 2_000])).toMatchObject({ amount: 2_000, isFinal: true });
    const oneCent = hold(ordered([1_000, 1_000], { taxCents: cents(1), shippingCents: cents(1) }), 'two');
    expect(oneCent.lines.map((line) => line.amountTotalCents)).toEqual([1_002, 1_000]);
    expect(taken(asked(oneCent, [1_000, 1_002]))).toEqual([
      ['line 0', 1_002],
      ['line 1', 1_000],
    ]);
  });

  it.each<[string, number[], Record<string, number>, RegExp]>([
    ['one line', [1_033], { tax: 33 }, /amount_to_capture of price_0 includes its tax\b.*omit amount_tax/],
    ['one line and more tax', [1_033], { tax: 67 }, /price_0 includes its tax\b/],
    ['the other line', [0, 2_067], { tax: 67 }, /price_1 includes its tax\b/],
  ])('a component inside %s and beside it takes no goods of another line [D14.303]', (_, amounts, some, detail) => {
    const message = expect.objectContaining({ detail: expect.stringMatching(detail) });
    expect(() => asked(taxed(), amounts, some)).toThrow(exceeds);
    expect(() => asked(taxed(), amounts, some)).toThrow(message);
  });

  it('a price that is not there is refused as that, whatever the amounts are [D14.303]', () => {
    const entries = [
      { priceId: 'price_0', amount: cents(1) },
      { priceId: 'price_9', amount: cents(99_999) },
    ];
    const loc = ['body', 'checkout_session', 'line_items', '1', 'price'];
    const notFound = expect.objectContaining({
      violations: [expect.objectContaining({ loc, type: 'price_not_found' })],
    });
    expect(() => allocateCapture(added(), { entries, isFinal: false })).toThrow(notFound);
  });

  it.each<[string, Parameters<typeof allocateCapture>[1], string]>([
    [
      'a price',
      { entries: [{ priceId: 'price_1', amount: cents(1_900) }], discount: cents(10), isFinal: false },
      'At most 1810 can be captured for price_1 with this amount_discount. Lower amount_to_capture, or omit line_items to capture everything.',
    ],
    [
      'a product',
      { entries: [{ productId: 'product_1', amount: cents(1_900) }], isFinal: false },
      'At most 1800 can be captured for product_1. Lower amount_to_capture, or omit line_items to capture everything.',
    ],
    [
      'a negative entry',
      {
        entries: [
          { priceId: 'price_0', amount: cents(100) },
          { productId: 'product_1', amount: cents(-1) },
        ],
        isFinal: false,
      },
      'amount_to_capture of line_items.1 (product_1) must not be negative.',
    ],
  ])('a refusal names %s as the request does [D14.303]', (_, instruction, detail) => {
    expect(() => allocateCapture(general(), instruction)).toThrow(expect.objectContaining({ detail }));
  });

  it('no component of the last lines takes what is left of each, also where an earlier one stated less [D14.100]', () => {
    const held = added();
    const first = allocateCapture(held, { amount: cents(1_000), tax: cents(0), entries: [], isFinal: false });
    expect(allocateCapture(after(held, first), allHeld)).toMatchObject({
      amount: 2_200,
      tax: 100,
      shipping: 100 - first.shipping,
    });
  });
});
