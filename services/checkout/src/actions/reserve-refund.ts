import { AsyncLocalStorage } from 'node:async_hooks';
import { wakeRelayAfterCommit } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { commitBehind, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findIntent } from '../store/payment-intents.ts';
import {
  loadPaidCards,
  loadRefundableLines,
  loadRefundStandings,
  lockPaidCard,
  lockRefundedSession,
  type RefundStanding,
} from '../store/refund-facts.ts';
import { findReservation, refundIdIsUsed, writeReservations } from '../store/refund-reservations.ts';
import { keepRestOfLetterFees } from '../store/session-lines.ts';
import { actingTime, timeOnClock } from '../store/test-clocks.ts';
import {
  describe,
  plannedReservation,
  previewedReservation,
  type RefundedSubject,
  type RefundReservation,
  type ReservedRefund,
} from './planned-reservation.ts';

/** What a reservation needs of the context. */
export type Reserving = Pick<Context, 'database' | 'clock' | 'budgets'>;

/**
 * Enforces "refunded <= captured" where captured is stored: allocates the refund over lines and cards and deducts it from the remaining balance, in one
 * transaction, once per refund id (asking again answers what was reserved). A preview allocates and reserves nothing. Throws `conflict` for an
 * id that was closed or given back, the refusals of `allocateRefund`, `refund_limit_reached`, `checkout_session_not_found`, `payment_intent_not_found`, `payment_intent_not_succeeded`,
 * `payment_method_allocation_not_enabled`, and `lock_timeout` while a charge of the subject is unsettled. Refunds of several sessions that come at the
 * same time share a transaction.
 */
export async function reserveRefund(
  context: Context,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  if (reservation.preview) return reserveRefundAlone(context, scope, reservation);
  return context.groups.reservations.submit(scope, { reservation, inContext: AsyncLocalStorage.snapshot() });
}

/** Reserves it in a transaction of its own. */
export async function reserveRefundAlone(
  context: Reserving,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  const run = () =>
    withTx(context.database, scope, (tx) => reserve(context, tx, scope, reservation), {
      lockTimeoutMs: context.budgets.lockMs,
    });
  const outcome = await run().catch((error) => {
    // Its id was used since it was looked up: now it is found.
    if (refundIdIsUsed(error)) return run();
    throw error;
  });
  if (outcome instanceof Failure) throw outcome;
  return outcome;
}

// A failure that it returns is final, and what it has written is kept.
async function reserve(
  context: Reserving,
  tx: Tx,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund | Failure> {
  const { refundId, instruction } = reservation;
  const intent =
    reservation.paymentIntentId === null ? undefined : await findIntent(tx, scope, reservation.paymentIntentId);
  if (reservation.paymentIntentId !== null && intent === undefined) throw new Failure('payment_intent_not_found');
  const sessionId = reservation.sessionId ?? intent?.sessionId ?? null;
  const subject = await loadSubject(tx, scope, refundId, sessionId, intent);
  const { refunded, standing } = subject;
  const session = refunded?.session;
  if (sessionId !== null && session === undefined) throw new Failure('checkout_session_not_found');
  if (standing.isReserved) return answerEarlier(tx, scope, refundId, subject);
  if (intent !== undefined && !isRefundable(intent, session, reservation)) {
    throw new Failure('payment_intent_not_succeeded');
  }
  // No client waits for a call that comes after its id was closed.
  if (standing.isClosed && !reservation.preview) throw new Failure('conflict');
  // Only now: what was reserved while the account had the feature is answered all the same, or it would never be given back.
  if (instruction.methods.length > 0 && !reservation.features.includes('refund_payment_methods')) {
    throw new Failure('payment_method_allocation_not_enabled');
  }
  if (standing.isCharging) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  const at =
    session === undefined
      ? await actingTime(tx, scope, context.clock, intent?.customerId ?? null)
      : await timeOnClock(tx, scope, context.clock, session.testClockId);
  const cards = subject.cards.filter((card) => intent === undefined || card.intent.id === intent.id);
  if (reservation.preview) return previewedReservation(reservation, { ...subject, cards }, at);
  const planned = planOrRefusal(scope, reservation, { ...subject, cards }, at);
  if (planned instanceof Failure) return refused(tx, scope, reservation, session, planned);
  const { reserved, write } = planned;
  const written = writeReservations(tx, scope, [write]);
  commitBehind(tx);
  await written;
  wakeRelayAfterCommit(tx);
  return reserved;
}

function planOrRefusal(...facts: Parameters<typeof plannedReservation>) {
  try {
    return plannedReservation(...facts);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

// The command for a letter fee ends with a refusal: nothing more of the fee is to be given back.
async function refused(
  tx: Tx,
  scope: Scope,
  { instruction }: RefundReservation,
  session: Session | undefined,
  failure: Failure,
): Promise<Failure> {
  if (instruction.letterFee === true && session !== undefined) await keepRestOfLetterFees(tx, scope, [session.id]);
  return failure;
}

// Of a session that is complete, the rest of a hold is only to be voided: Eligo refunds a letter fee to one of two cards at that moment. A partner waits for that.
function isRefundable(
  { status, amountReceivedCents }: PaymentIntent,
  session: Session | undefined,
  { askedByPartner = false }: RefundReservation,
): boolean {
  if (status === 'succeeded') return true;
  if (askedByPartner) return false;
  return status === 'requires_capture' && amountReceivedCents > 0 && session?.status === 'complete';
}

// What is read travels behind the lock, in one round trip, and is seen as of when the lock is held.
async function loadSubject(
  tx: Tx,
  scope: Scope,
  refundId: string,
  sessionId: string | null,
  intent: PaymentIntent | undefined,
): Promise<RefundedSubject & { readonly standing: RefundStanding }> {
  const [refunded, standings, cards, lines] = await Promise.all([
    sessionId === null ? undefined : lockRefundedSession(tx, scope, sessionId),
    sessionId === null
      ? loadRefundStandings(tx, scope, 'invoice', [{ refundId, subjectId: intent?.invoiceId ?? null }])
      : loadRefundStandings(tx, scope, 'session', [{ refundId, subjectId: sessionId }]),
    sessionId === null ? lockPaidCard(tx, scope, intent?.id ?? '') : loadPaidCards(tx, scope, [sessionId]),
    sessionId === null ? [] : loadRefundableLines(tx, scope, [sessionId]),
  ]);
  const standing = standings.get(refundId);
  if (standing === undefined) throw new Error('A select returned no row');
  return { refunded, standing, cards, lines };
}

// A released reservation, in whole or in part, has failed at the processor: no caller may start it again.
async function answerEarlier(
  tx: Tx,
  scope: Scope,
  refundId: string,
  { refunded, cards }: RefundedSubject,
): Promise<ReservedRefund> {
  const earlier = await findReservation(tx, scope, refundId);
  if (earlier === undefined) throw new Error(`Reservation of refund ${refundId} not found`);
  if (earlier.parts.some((part) => part.released)) throw new Failure('conflict');
  const amounts = new Map(earlier.parts.map((part) => [part.paymentIntentId, part.amountCents]));
  const captures = new Map(earlier.parts.map((part) => [part.paymentIntentId, part.captures]));
  return { cards: describe(cards, amounts, captures), session: refunded?.session, at: earlier.actingAt };
}
