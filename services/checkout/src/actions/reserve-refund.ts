import { type NewEvent, wakeRelayAfterCommit } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { commitBehind, type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import {
  allocateRefund,
  type RefundAllocation,
  type RefundableLine,
  type RefundInstruction,
} from '../domain/refund-allocation.ts';
import type { Session } from '../domain/session.ts';
import { findIntent } from '../store/payment-intents.ts';
import {
  loadPaidCards,
  loadRefundableLines,
  loadRefundStanding,
  lockPaidCard,
  lockRefundedSession,
  type PaidCard,
  type RefundedSession,
} from '../store/refund-facts.ts';
import { findReservation, refundIdIsUsed, writeReservation } from '../store/refund-reservations.ts';
import { actingTime, timeOnClock } from '../store/test-clocks.ts';
import { chargeEvent, sessionEvent } from './payment-events.ts';

/** A refund to be taken out of what remains of a session, or of one payment intent. */
export interface RefundReservation {
  readonly refundId: string;
  readonly sessionId: string | null;
  readonly paymentIntentId: string | null;
  readonly instruction: RefundInstruction;
  readonly features: readonly string[];
  readonly preview: boolean;
}

/** What each card refunds, as the processor knows it. */
export interface ReservedCard {
  readonly intent: PaymentIntent;
  readonly amountCents: number;
  readonly last4: string;
}

export interface ReservedRefund {
  readonly cards: readonly ReservedCard[];
  readonly session: Session | undefined;
  readonly at: Date;
}

/**
 * Enforces "refunded <= captured" where captured is stored: allocates the refund over lines and cards and deducts it from the remaining balance, in one
 * transaction, once per refund id (asking again answers what was reserved). A preview allocates and reserves nothing. Throws `conflict` for an
 * id that was closed or given back, the refusals of `allocateRefund`, `checkout_session_not_found`, `payment_intent_not_found`, `payment_intent_not_succeeded`,
 * `payment_method_allocation_not_enabled`, and `lock_timeout` while a charge of the subject is unsettled.
 */
export async function reserveRefund(
  charging: Charging,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  const run = () =>
    withTx(charging.database, scope, (tx) => reserve(charging, tx, scope, reservation), {
      lockTimeoutMs: charging.budgets.lockMs,
    });
  try {
    return await run();
  } catch (error) {
    // Its id was used since it was looked up: now it is found.
    if (refundIdIsUsed(error)) return run();
    throw error;
  }
}

async function reserve(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  const { refundId, instruction } = reservation;
  const intent =
    reservation.paymentIntentId === null ? undefined : await findIntent(tx, scope, reservation.paymentIntentId);
  if (reservation.paymentIntentId !== null && intent === undefined) throw new Failure('payment_intent_not_found');
  if (intent !== undefined && intent.status !== 'succeeded') throw new Failure('payment_intent_not_succeeded');
  const sessionId = reservation.sessionId ?? intent?.sessionId ?? null;
  const subject = await loadSubject(tx, scope, refundId, sessionId, intent);
  const { refunded, standing } = subject;
  const session = refunded?.session;
  if (sessionId !== null && session === undefined) throw new Failure('checkout_session_not_found');

  if (standing.isReserved) return answerEarlier(tx, scope, refundId, subject);
  // No client waits for a call that comes after its id was closed.
  if (standing.isClosed && !reservation.preview) throw new Failure('conflict');
  // Only now: what was reserved while the account had the feature is answered all the same, or it would never be given back.
  if (instruction.methods.length > 0 && !reservation.features.includes('refund_payment_methods')) {
    throw new Failure('payment_method_allocation_not_enabled');
  }
  if (standing.isCharging) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  const at =
    session === undefined
      ? await actingTime(tx, scope, charging.clock, intent?.customerId ?? null)
      : await timeOnClock(tx, scope, charging.clock, session.testClockId);
  const cards = subject.cards.filter((card) => intent === undefined || card.intent.id === intent.id);
  const allocation = allocate(instruction, { ...subject, cards });
  const amounts = new Map(allocation.cards.map((card) => [card.paymentIntentId, card.amount]));
  if (reservation.preview) return { cards: describe(cards, amounts), session, at };

  const after = allocation.cards.map((part) => refundedCard(cards, part));
  const saved = session && refundedSession(session, refundId, allocation);
  const written = writeReservation(tx, scope, {
    ...{ refundId, sessionId, paymentIntentId: intent?.id ?? null, allocation, at },
    chargeIds: after.map((card) => card.charge?.id ?? null),
    events: eventsOf(scope, after, saved, at),
  });
  commitBehind(tx);
  await written;
  wakeRelayAfterCommit(tx);
  return { cards: describe(after, amounts), session: saved, at };
}

interface Subject {
  readonly refunded: RefundedSession | undefined;
  readonly standing: { readonly isReserved: boolean; readonly isClosed: boolean; readonly isCharging: boolean };
  readonly cards: readonly PaidCard[];
  readonly lines: readonly RefundableLine[];
}

// What is read travels behind the lock, in one round trip, and is seen as of when the lock is held.
async function loadSubject(
  tx: Tx,
  scope: Scope,
  refundId: string,
  sessionId: string | null,
  intent: PaymentIntent | undefined,
): Promise<Subject> {
  const [refunded, standing, cards, lines] = await Promise.all([
    sessionId === null ? undefined : lockRefundedSession(tx, scope, sessionId),
    sessionId === null
      ? loadRefundStanding(tx, scope, refundId, 'invoice', intent?.invoiceId ?? null)
      : loadRefundStanding(tx, scope, refundId, 'session', sessionId),
    sessionId === null ? lockPaidCard(tx, scope, intent?.id ?? '') : loadPaidCards(tx, scope, sessionId),
    sessionId === null ? [] : loadRefundableLines(tx, scope, sessionId),
  ]);
  return { refunded, standing, cards, lines };
}

// A released reservation, in whole or in part, has failed at the processor: no caller may start it again.
async function answerEarlier(
  tx: Tx,
  scope: Scope,
  refundId: string,
  { refunded, cards }: Subject,
): Promise<ReservedRefund> {
  const earlier = await findReservation(tx, scope, refundId);
  if (earlier === undefined) throw new Error(`Reservation of refund ${refundId} not found`);
  if (earlier.parts.some((part) => part.released)) throw new Failure('conflict');
  const amounts = new Map(earlier.parts.map((part) => [part.paymentIntentId, part.amountCents]));
  return { cards: describe(cards, amounts), session: refunded?.session, at: earlier.actingAt };
}

function allocate(instruction: RefundInstruction, { refunded, cards, lines }: Subject): RefundAllocation {
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  const own = new Set(cards.map(({ intent }) => intent.id));
  return allocateRefund(
    {
      cards: cards.map(({ intent }) => ({
        paymentIntentId: intent.id,
        paymentMethodId: intent.paymentMethodId ?? '',
        receivedCents: intent.amountReceivedCents,
        refundedCents: intent.amountRefundedCents,
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
      captured: refunded?.captured ?? none,
      refunded: refunded?.refunded ?? none,
    },
    instruction,
  );
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

function eventsOf(scope: Scope, cards: readonly PaidCard[], session: Session | undefined, at: Date): NewEvent[] {
  const ofCards = cards.flatMap(({ charge }) =>
    charge === undefined ? [] : [chargeEvent(scope, 'charge.refunded', charge, at)],
  );
  return session === undefined ? ofCards : [...ofCards, sessionEvent(scope, 'checkout.session.refunded', session, at)];
}

function describe(cards: readonly PaidCard[], amounts: ReadonlyMap<string, number>): ReservedCard[] {
  return cards.flatMap(({ intent, last4 }) => {
    const amountCents = amounts.get(intent.id) ?? 0;
    return amountCents === 0 ? [] : [{ intent, amountCents, last4 }];
  });
}
