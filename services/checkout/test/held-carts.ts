import { type Cents, cents } from '@eligo/values';
import fc from 'fast-check';
import type { CaptureAllocation, CaptureInstruction, HeldSession } from '../src/domain/capture-allocation.ts';
import type { Components } from '../src/domain/line-allocation.ts';
import { divideLines, type LineTender } from '../src/domain/line-tenders.ts';
import type { PaymentIntent } from '../src/domain/payment-intent.ts';
import type { Session, SessionLine } from '../src/domain/session.ts';
import { type Cart, splitCart } from '../src/domain/split.ts';

export const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
/** The components of a session. */
export const names = ['tax', 'shipping', 'discount'] as const;
export type Name = (typeof names)[number];

/** A session that is held: on one card, on two, or on a health card that was approved for a part and another one. */
export function hold(cart: Cart, cards: 'one' | 'two' | { readonly part: number }): HeldSession {
  const { lines: split, total } = splitCart(cart);
  const lines = split.map(
    (line, index) =>
      ({
        ...{ id: `line ${index}`, priceId: cart.lines[index]?.priceId, productId: cart.lines[index]?.productId },
        ...{ amountDiscountCents: line.discountCents, amountTaxCents: line.taxCents },
        ...{ amountShippingCents: line.shippingCents, amountTotalCents: line.totalCents },
        ...{ amountEligibleCents: line.eligibleCents, amountCapturedCents: cents(0) },
        ...{ eligibilityClass: cart.lines[index]?.eligibilityClass ?? null, paymentIntentId: null },
      }) as SessionLine,
  );
  const session = {
    ...{ amountTaxCents: total.taxCents, amountShippingCents: total.shippingCents, amountReceivedCents: cents(0) },
    ...{ amountDiscountCents: total.discountCents, amountTotalCents: total.totalCents },
  } as Session;
  const intent = (leg: 'health' | 'other', amount: number) =>
    ({
      ...{ id: leg, leg, paymentMethodId: `card ${leg}`, amountCents: cents(amount) },
      amountCapturableCents: cents(amount),
    }) as PaymentIntent;
  const health = cards === 'one' ? total.totalCents : cards === 'two' ? total.eligibleCents : cards.part;
  const intents = [intent('health', health), intent('other', total.totalCents - health)];
  const tenders =
    typeof cards === 'string'
      ? []
      : divideLines(lines, cents(health)).flatMap(({ lineId, healthCents, otherCents }): LineTender[] =>
          [
            { paymentIntentId: 'health', amountCents: healthCents },
            { paymentIntentId: 'other', amountCents: otherCents },
          ]
            .filter(({ amountCents }) => amountCents > 0)
            .map((tender) => ({ ...tender, lineId, capturedCents: cents(0), refundedCents: cents(0) })),
        );
  return {
    ...{ session, lines, tenders, captured: { tax: cents(0), shipping: cents(0), discount: cents(0) } },
    intents: intents.filter(({ amountCents }) => amountCents > 0),
  };
}

/** What is held after a capture, as the stores keep it. */
export function after(held: HeldSession, capture: CaptureAllocation): HeldSession {
  const takenOf = (lineId: string, card?: string) =>
    sum(
      capture.lines
        .filter((line) => line.lineId === lineId && (card === undefined || line.paymentIntentId === card))
        .map(({ amount }) => amount),
    );
  const plus = (amount: Cents, more: number) => cents(amount + more);
  return {
    session: { ...held.session, amountReceivedCents: plus(held.session.amountReceivedCents, capture.amount) },
    lines: held.lines.map((line) => ({
      ...line,
      amountCapturedCents: plus(line.amountCapturedCents, takenOf(line.id)),
    })),
    tenders: held.tenders.map((tender) => ({
      ...tender,
      capturedCents: plus(tender.capturedCents, takenOf(tender.lineId, tender.paymentIntentId)),
    })),
    intents: held.intents.flatMap((intent) => {
      const card = capture.cards.find((one) => one.intent.id === intent.id);
      if (card?.endsHold === true || capture.releases.includes(intent)) return [];
      return [{ ...intent, amountCapturableCents: plus(intent.amountCapturableCents, -(card?.amount ?? 0)) }];
    }),
    captured: {
      tax: plus(held.captured.tax, capture.tax),
      shipping: plus(held.captured.shipping, capture.shipping),
      discount: plus(held.captured.discount, capture.discount),
    },
  };
}

/** What remains of a line, of the cards, and of the components. */
export const restOf = (line: SessionLine): number => line.amountTotalCents - line.amountCapturedCents;
export const remainingOf = ({ intents }: HeldSession): number =>
  sum(intents.map((intent) => intent.amountCapturableCents));
export const componentsLeft = ({ session, captured }: HeldSession): Components => ({
  tax: cents(session.amountTaxCents - captured.tax),
  shipping: cents(session.amountShippingCents - captured.shipping),
  discount: cents(session.amountDiscountCents - captured.discount),
});

/** A capture that states lines by their prices, and components. */
export const stated = (
  lines: readonly (readonly [line: SessionLine, amount: number])[],
  components: Partial<Components>,
): CaptureInstruction => ({
  ...components,
  entries: lines.map(([{ priceId }, amount]) => ({ priceId, amount: cents(amount) })),
  isFinal: false,
});

const classes = ['auto_substantiation', 'letter_of_medical_necessity', null] as const;
const carts: fc.Arbitrary<Cart> = fc
  .record({
    lines: fc.array(
      fc.record({
        ...{
          unit: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5_000 })),
          quantity: fc.integer({ min: 1, max: 3 }),
        },
        eligibilityClass: fc.constantFrom(...classes),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    discounts: fc.array(
      fc.record({ off: fc.integer({ min: 1, max: 4_000 }), percent: fc.boolean(), product: fc.option(fc.nat(3)) }),
      { maxLength: 2 },
    ),
    ...{ shippingCents: fc.nat(1_500).map(cents), taxCents: fc.nat(1_500).map(cents) },
    ...{
      feeCents: fc.array(fc.nat(500).map(cents), { maxLength: 2 }),
      letterFeeCents: fc.constantFrom(0, 999).map(cents),
    },
  })
  .map(({ lines, discounts, ...more }) => ({
    ...more,
    // Two prices of each product.
    lines: lines.map(({ unit, quantity, eligibilityClass }, index) => ({
      ...{ priceId: `price_${index}`, productId: `product_${index >> 1}`, unitAmountCents: cents(unit) },
      ...{ quantity, eligibilityClass },
    })),
    discounts: discounts.map(({ off, percent, product }) => ({
      off: percent ? { basisPoints: off } : { amountCents: cents(off) },
      ...{ products: product === null ? [] : [`product_${product}`], prices: [] },
    })),
  }));

/** Sessions that are held. */
export const sessions: fc.Arbitrary<HeldSession> = fc
  .record({ cart: carts, cards: fc.constantFrom('one', 'two', 'in part'), part: fc.integer({ min: 1, max: 999 }) })
  .map(({ cart, cards, part }) => {
    const { total } = splitCart(cart);
    const isMixed = total.eligibleCents > 0 && total.eligibleCents < total.totalCents;
    if (cards === 'in part' && total.eligibleCents > 1) {
      return hold(cart, { part: Math.max(1, Math.floor((total.eligibleCents * part) / 1_000)) });
    }
    return hold(cart, cards === 'one' || !isMixed ? 'one' : 'two');
  })
  .filter(({ session }) => session.amountTotalCents > 0);
