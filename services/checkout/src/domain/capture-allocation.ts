import { Failure } from '@eligo/failures';
import { type Cents, cents, partOf } from '@eligo/values';
import {
  type AllocationRefusals,
  allocateOverLines,
  type Components,
  type DividedLine,
  type LineEntry,
} from './line-allocation.ts';
import { type LineTender, linesOfTenders } from './line-tenders.ts';
import { paidLines } from './paid-lines.ts';
import type { PaymentIntent } from './payment-intent.ts';
import type { Session, SessionLine } from './session.ts';
import { allocateStated } from './stated-lines.ts';

/** A capture as a partner asks for it. Without lines, amount and components it takes all that remains. */
export interface CaptureInstruction {
  readonly amount?: Cents | undefined;
  readonly entries: readonly LineEntry[];
  readonly tax?: Cents | undefined;
  readonly shipping?: Cents | undefined;
  readonly discount?: Cents | undefined;
  /** What is not captured is released. */
  readonly isFinal: boolean;
}

/** What a session holds: its lines, its cards that are held, and what was captured of its components. */
export interface HeldSession {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
  readonly intents: readonly PaymentIntent[];
  /** Which card pays what of each line, where a line is paid with two. */
  readonly tenders: readonly LineTender[];
  readonly captured: Components;
}

export interface CaptureAllocation extends Components {
  readonly amount: Cents;
  readonly lines: readonly { readonly lineId: string; readonly paymentIntentId: string; readonly amount: Cents }[];
  readonly cards: readonly CardCapture[];
  /** No hold remains afterwards. */
  readonly isFinal: boolean;
  /** Holds of which this capture takes nothing, and which it ends. */
  readonly releases: readonly PaymentIntent[];
}

/** What a capture takes of one card's hold, and whether it ends the hold. */
export interface CardCapture {
  readonly intent: PaymentIntent;
  readonly amount: Cents;
  readonly endsHold: boolean;
}

/** All that a session holds. */
export const allHeld: CaptureInstruction = { entries: [], isFinal: false };

/** Stripe captures a payment at most 50 times; the last one must be final. */
export const maxCaptures = 50;

/**
 * Takes a capture apart into lines and cards: a line is captured on the card that pays it, and never above what was authorized for the session, the
 * card, the line and the component. A component that is not stated is that of the captured part of the lines. With `intentId` only that card's hold is captured, and
 * ended. Throws `checkout_session_not_capturable`, `capture_amount_exceeds_authorized` and `capture_amount_invalid`.
 */
export function allocateCapture(
  held: HeldSession,
  instruction: CaptureInstruction,
  intentId?: string,
): CaptureAllocation {
  const intents = held.intents.filter(({ id }) => intentId === undefined || id === intentId);
  if (intents.length === 0) throw new Failure('checkout_session_not_capturable');
  if (isRelease(held, instruction)) return releaseAll(intents);
  const lines = held.lines.flatMap((line) => dividedLines(held, intents, line));
  const { session, captured } = held;
  const asked = { ...instruction, methods: [] };
  const allocation = (statesParts(instruction) ? allocateStated : allocateOverLines)(
    {
      lines,
      cards: intents.map((intent) => ({
        paymentIntentId: intent.id,
        paymentMethodId: intent.paymentMethodId ?? '',
        limitCents: intent.amountCapturableCents,
        takenCents: cents(0),
      })),
      limit: {
        tax: session.amountTaxCents,
        shipping: session.amountShippingCents,
        discount: session.amountDiscountCents,
      },
      taken: captured,
      refusals,
    },
    asked,
  );
  const taken = new Map(allocation.cards.map((card) => [card.paymentIntentId, card.amount]));
  const ends = (intent: PaymentIntent) =>
    instruction.isFinal || intentId !== undefined || taken.get(intent.id) === intent.amountCapturableCents;
  const others = held.intents.filter((intent) => !intents.includes(intent));
  return {
    amount: allocation.amount,
    ...componentsOf(held, instruction, allocation.lines),
    lines: allocation.lines,
    // The health card's hold first: if it is lost, nothing has been taken of the other card.
    cards: intents.toSorted(healthFirst).flatMap((intent) => {
      const amount = taken.get(intent.id);
      return amount === undefined ? [] : [{ intent, amount, endsHold: ends(intent) }];
    }),
    isFinal: others.length === 0 && intents.every(ends),
    releases: intents.filter((intent) => !taken.has(intent.id) && ends(intent)),
  };
}

// Lines, or components alone; components beside an amount only say what it is.
function statesParts({ amount, entries, tax, shipping, discount }: CaptureInstruction): boolean {
  const states = tax !== undefined || shipping !== undefined || discount !== undefined;
  return entries.length > 0 || (amount === undefined && states);
}

const refusals: AllocationRefusals = {
  nothing: 'checkout_session_not_capturable',
  exceeds: 'capture_amount_exceeds_authorized',
  invalid: 'capture_amount_invalid',
  nothingRemains: 'The session has nothing left to capture.',
};

// A final capture of nothing: it ends the holds of a session of which something was captured before. A session of which nothing was is canceled instead.
function isRelease({ session }: HeldSession, { amount, isFinal }: CaptureInstruction): boolean {
  return isFinal && amount === 0 && session.amountReceivedCents > 0;
}

function releaseAll(intents: readonly PaymentIntent[]): CaptureAllocation {
  const none = { amount: cents(0), tax: cents(0), shipping: cents(0), discount: cents(0) };
  return { ...none, lines: [], cards: [], isFinal: true, releases: intents };
}

function dividedLines(held: HeldSession, intents: readonly PaymentIntent[], line: SessionLine): DividedLine[] {
  const tenders = held.tenders.filter(({ lineId }) => lineId === line.id);
  // Where two cards pay a line, no card pays a line without a tender.
  if (tenders.length === 0) return [dividedLine(held, held.tenders.length === 0 ? intents : [], line)];
  return linesOfTenders(
    {
      ...{ id: line.id, priceId: line.priceId, productId: line.productId, taxCents: line.amountTaxCents },
      ...{ shippingCents: line.amountShippingCents, discountCents: line.amountDiscountCents },
    },
    tenders.map(({ paymentIntentId, amountCents, capturedCents }) => ({
      ...{ paymentIntentId, amountCents, takenCents: capturedCents },
      limitCents: intents.some(({ id }) => id === paymentIntentId) ? amountCents : capturedCents,
    })),
  );
}

function dividedLine(held: HeldSession, intents: readonly PaymentIntent[], line: SessionLine): DividedLine {
  const intent = intents.find((candidate) => paysLine(held.session, candidate, line));
  return {
    id: line.id,
    priceId: line.priceId,
    productId: line.productId,
    paymentIntentId: intent?.id ?? null,
    // The session has no more to give for a line whose card is not held.
    limitCents: intent === undefined ? line.amountCapturedCents : line.amountTotalCents,
    takenCents: line.amountCapturedCents,
    taxCents: line.amountTaxCents,
    shippingCents: line.amountShippingCents,
    discountCents: line.amountDiscountCents,
  };
}

function paysLine(session: Session, intent: PaymentIntent, line: SessionLine): boolean {
  const paid = paidLines(session, intent);
  return paid === 'all' || (paid === 'eligible') === line.amountEligibleCents > 0;
}

function healthFirst(a: PaymentIntent, b: PaymentIntent): number {
  return Number(b.leg === 'health') - Number(a.leg === 'health');
}

function componentsOf(
  { session, lines, captured }: HeldSession,
  { tax, shipping, discount }: CaptureInstruction,
  taken: CaptureAllocation['lines'],
): Components {
  const own = componentsOfLines(lines, taken);
  const rest = lines.reduce((sum, line) => sum + line.amountTotalCents - line.amountCapturedCents, 0);
  // What takes the last of the lines takes the last of what no capture has stated.
  const isAll = taken.reduce((sum, line) => sum + line.amount, 0) === rest;
  const last = (amount: Cents, whole: Cents, before: Cents) =>
    cents(isAll ? whole - before : Math.min(amount, whole - before));
  return {
    tax: tax ?? last(own.tax, session.amountTaxCents, captured.tax),
    shipping: shipping ?? last(own.shipping, session.amountShippingCents, captured.shipping),
    discount: discount ?? last(own.discount, session.amountDiscountCents, captured.discount),
  };
}

/** What is taken of each line, on all cards together. */
export function amountsOfLines(taken: CaptureAllocation['lines']): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>();
  for (const { lineId, amount } of taken) amounts.set(lineId, (amounts.get(lineId) ?? 0) + amount);
  return amounts;
}

/** The tax, the shipping and the discount of what is taken of lines, beyond what was captured of them. */
export function componentsOfLines(lines: readonly SessionLine[], taken: CaptureAllocation['lines']): Components {
  const amounts = amountsOfLines(taken);
  const sum = (component: (line: SessionLine) => Cents) =>
    lines.reduce((total, line) => {
      const before = shareOfLine(line, component(line), line.amountCapturedCents);
      const after = shareOfLine(line, component(line), line.amountCapturedCents + (amounts.get(line.id) ?? 0));
      return total + after - before;
    }, 0);
  return {
    tax: cents(sum((line) => line.amountTaxCents)),
    shipping: cents(sum((line) => line.amountShippingCents)),
    discount: cents(sum((line) => line.amountDiscountCents)),
  };
}

/** Of a component of a line, what belongs to a captured part of the line, rounded down; all of it with the last cent. */
export function shareOfLine(
  line: Pick<SessionLine, 'amountTotalCents'>,
  component: Cents,
  capturedCents: number,
): Cents {
  return partOf(component, capturedCents, line.amountTotalCents);
}
