import { type EncodedEvent, encodeEvent, type NewEvent } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { cents } from '@eligo/values';
import { type LineWithFees, letterFeesGivenBack } from '../domain/letter-fee.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import {
  allocateRefund,
  type RefundAllocation,
  type RefundableLine,
  type RefundInstruction,
} from '../domain/refund-allocation.ts';
import { requireRoomForRefund } from '../domain/refund-count.ts';
import { drawFromCaptures, type RefundedCapture } from '../domain/refunded-captures.ts';
import type { Session } from '../domain/session.ts';
import type { PaidCard, RefundedSession } from '../store/refund-facts.ts';
import type { ReservationWrite } from '../store/refund-reservations.ts';
import { chargeEvent, sessionEvent } from './payment-events.ts';

/** A refund to be taken out of what remains of a session, or of one payment intent. */
export interface RefundReservation {
  readonly refundId: string;
  readonly sessionId: string | null;
  readonly paymentIntentId: string | null;
  readonly instruction: RefundInstruction;
  readonly features: readonly string[];
  readonly preview: boolean;
  /** Whether a partner asks, and not a command of Eligo's. */
  readonly askedByPartner?: boolean;
}

/** A reservation with its request's context, in which its events are encoded. */
export interface GroupedReservation {
  readonly reservation: RefundReservation;
  readonly inContext: <Result>(work: () => Result) => Result;
}

/** What each card refunds, as the processor knows it. */
export interface ReservedCard {
  readonly intent: PaymentIntent;
  readonly amountCents: number;
  readonly last4: string;
  /** The captures that it draws from; none of a preview. */
  readonly captures: readonly RefundedCapture[];
}

export interface ReservedRefund {
  readonly cards: readonly ReservedCard[];
  readonly session: Session | undefined;
  readonly at: Date;
}

/** What a refund is taken out of, as it was read under its lock. */
export interface RefundedSubject {
  readonly refunded: RefundedSession | undefined;
  /** Those that the refund may name. */
  readonly cards: readonly PaidCard[];
  readonly lines: readonly RefundableLine[];
}

/** Allocates a refund over lines and cards, and plans what is to be written; throws the refusals of `allocateRefund` and `requireRoomForRefund`. */
export function plannedReservation(
  scope: Scope,
  reservation: RefundReservation,
  subject: RefundedSubject,
  at: Date,
): { readonly reserved: ReservedRefund; readonly write: ReservationWrite } {
  const { refunded, cards } = subject;
  const { refundId, paymentIntentId } = reservation;
  const session = refunded?.session;
  const allocation = allocate(reservation, subject);
  const after = allocation.cards.map((part) => refundedCard(cards, part));
  const captures = new Map(after.map((card) => [card.intent.id, capturesOf(card, allocation)]));
  const saved = session && refundedSession(session, refundId, allocation);
  return {
    reserved: { cards: describe(after, amountsOf(allocation), captures), session: saved, at },
    write: {
      ...{ refundId, sessionId: session?.id ?? null, paymentIntentId, allocation, at },
      isLetterFee: reservation.instruction.letterFee === true,
      chargeIds: after.map((card) => card.charge?.id ?? null),
      captures: [...captures].flatMap(([cardId, parts]) => parts.map((part) => ({ ...part, cardId }))),
      events: eventsOf(scope, after, saved, at),
    },
  };
}

/** The same of a refund of which nothing is to be written. */
export function previewedReservation(reservation: AskedRefund, subject: RefundedSubject, at: Date): ReservedRefund {
  const amounts = amountsOf(allocate(reservation, subject));
  return { cards: describe(subject.cards, amounts), session: subject.refunded?.session, at };
}

function capturesOf({ captures, intent }: PaidCard, { lines }: RefundAllocation): RefundedCapture[] {
  return drawFromCaptures(
    captures,
    lines.filter((line) => line.paymentIntentId === intent.id),
  );
}

function amountsOf({ cards }: RefundAllocation): ReadonlyMap<string, number> {
  return new Map(cards.map((card) => [card.paymentIntentId, card.amount]));
}

type AskedRefund = Pick<RefundReservation, 'instruction' | 'askedByPartner'>;

function allocate({ instruction, askedByPartner = false }: AskedRefund, subject: RefundedSubject): RefundAllocation {
  const allocation = allocated(instruction, subject);
  const session = subject.refunded?.session;
  if (askedByPartner && session !== undefined) {
    const remaining = () => allocated({ entries: [], methods: [] }, subject).amount;
    requireRoomForRefund(session.refundIds.length, () => allocation.amount === remaining());
  }
  return allocation;
}

function allocated(instruction: RefundInstruction, { refunded, cards, lines }: RefundedSubject): RefundAllocation {
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  const own = new Set(cards.map(({ intent }) => intent.id));
  return allocateRefund(
    {
      cards: cards.map(({ intent }) => ({
        paymentIntentId: intent.id,
        paymentMethodId: intent.paymentMethodId ?? '',
        receivedCents: intent.amountReceivedCents,
        refundedCents: intent.amountRefundedCents,
        disputedCents: intent.amountDisputedCents,
      })),
      // An invoice has no lines here: the whole of its one charge stands for them.
      lines:
        refunded === undefined
          ? cards.map(({ intent }) => wholeAsLine(intent))
          : lines.map((line) => ({
              ...line,
              paymentIntentId:
                line.paymentIntentId !== null && own.has(line.paymentIntentId) ? line.paymentIntentId : null,
            })),
      letterFees: refunded === undefined ? new Map() : letterFeesGivenBack(refunded.session, wholeLines(lines)),
      captured: refunded?.captured ?? none,
      refunded: refunded?.refunded ?? none,
    },
    instruction,
  );
}

// A line that two cards paid is there once for each.
function wholeLines(lines: readonly RefundableLine[]): LineWithFees[] {
  const whole = new Map(
    lines.flatMap((line) => (line.whole === undefined ? [] : [[line.whole.id, line.whole] as const])),
  );
  return [...whole.values()];
}

function wholeAsLine(intent: PaymentIntent): RefundableLine {
  return {
    id: intent.id,
    priceId: '',
    productId: '',
    paymentIntentId: intent.id,
    capturedCents: intent.amountReceivedCents,
    refundedCents: intent.amountRefundedCents,
    taxCents: cents(0),
    shippingCents: cents(0),
    discountCents: cents(0),
  };
}

function refundedCard(cards: readonly PaidCard[], part: { paymentIntentId: string; amount: number }): PaidCard {
  const card = cards.find(({ intent }) => intent.id === part.paymentIntentId);
  if (card === undefined) throw new Error('A refund names a card that has not paid');
  const { intent, charge } = card;
  return {
    ...card,
    intent: { ...intent, amountRefundedCents: cents(intent.amountRefundedCents + part.amount) },
    charge: charge && { ...charge, amountRefundedCents: cents(charge.amountRefundedCents + part.amount) },
  };
}

function refundedSession(session: Session, refundId: string, { amount }: RefundAllocation): Session {
  return {
    ...session,
    refundIds: [...session.refundIds, refundId],
    amountRefundedCents: cents(session.amountRefundedCents + amount),
    version: session.version + 1n,
  };
}

function eventsOf(scope: Scope, cards: readonly PaidCard[], session: Session | undefined, at: Date): EncodedEvent[] {
  const ofCards: NewEvent[] = cards.flatMap(({ charge }) =>
    charge === undefined ? [] : [chargeEvent(scope, 'charge.refunded', charge, at)],
  );
  const ofSession = session === undefined ? [] : [sessionEvent(scope, 'checkout.session.refunded', session, at)];
  return [...ofCards, ...ofSession].map(encodeEvent);
}

/** What each card of these amounts refunds. */
export function describe(
  cards: readonly PaidCard[],
  amounts: ReadonlyMap<string, number>,
  captures: ReadonlyMap<string, readonly RefundedCapture[]> = new Map(),
): ReservedCard[] {
  return cards.flatMap(({ intent, last4 }) => {
    const amountCents = amounts.get(intent.id) ?? 0;
    return amountCents === 0 ? [] : [{ intent, amountCents, last4, captures: captures.get(intent.id) ?? [] }];
  });
}
