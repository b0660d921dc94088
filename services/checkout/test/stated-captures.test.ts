import { cents } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import {
  allHeld,
  allocateCapture,
  type CaptureAllocation,
  type HeldSession,
} from '../src/domain/capture-allocation.ts';
import type { Cart } from '../src/domain/split.ts';
import { after, hold, stated } from './held-carts.ts';

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
    ['more than a line has and the discount that is stated', general, [4_000], { discount: 399 }],
    ['more than the lines have and the discount that is stated', general, [4_000, 2_000], { discount: 599 }],
    ['more tax than there is', added, [1_000], { tax: 101 }],
    ['a cent of another card in a part of the order', added, [1_067], {}],
    ['two cents of another card', added, [1_068, 2_132], {}],
  ])('%s is refused [D14.100, D14.303]', (_, held, amounts, some) => {
    expect(() => asked(held(), amounts, some)).toThrow(exceeds);
  });

  it('one price of a product and the product takes the price first [D14.303]', () => {
    const cart = ordered([1_000, 2_000]);
    const held = hold({ ...cart, lines: cart.lines.map((line) => ({ ...line, productId: 'product' })) }, 'two');
    const entries = [
      { productId: 'product', amount: cents(500) },
      { priceId: 'price_1', amount: cents(1_800) },
    ];
    expect(taken(allocateCapture(held, { entries, isFinal: false }))).toEqual([
      ['line 0', 300],
      ['line 1', 2_000],
    ]);
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
