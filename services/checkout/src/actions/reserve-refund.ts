import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { cents, sumCents } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { allocateRefund, type RefundAllocation, type RefundInstruction } from '../domain/refund-allocation.ts';
import type { Session, SessionLine } from '../domain/session.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { findCharge } from '../store/charges.ts';
import { findIntent, lockIntents, moveRefunded } from '../store/payment-intents.ts';
import { findPaymentMethod } from '../store/payment-methods.ts';
import { lockLivePlan } from '../store/payment-plans.ts';
import {
  claimRefund,
  findReservation,
  insertReservation,
  loadRefundComponents,
  moveRefundComponents,
  type Reservation,
} from '../store/refund-reservations.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { actingTime, timeOnClock } from '../store/test-clocks.ts';
import { appendChargeEvent, appendSessionEvent } from './payment-events.ts';

/** A refund to be taken out of what remains of a session, or of one payment intent. */
export interface RefundReservation {
  readonly refundId: string;
  readonly sessionId: string | null;
  readonly paymentIntentId: string | null;
  readonly instruction: RefundInstruction;
  readonly features: readonly string[];
  readonly preview: boolean;
}

/** What each card gives back, as the processor knows it. */
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
 * Keeps "refunded <= captured" where captured is kept: allocates the refund over lines and cards and takes it out of the rest, in one
 * transaction, once per refund id (asking again answers what was reserved). A preview allocates and reserves nothing. Throws `conflict` for an
 * id that was closed or given back, the refusals of `allocateRefund`, `checkout_session_not_found`, `payment_intent_not_found`, `payment_intent_not_succeeded`,
 * `payment_method_allocation_not_enabled`, and `lock_timeout` while a charge of the subject is unsettled.
 */
export async function reserveRefund(
  charging: Charging,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  return withTx(charging.database, scope, (tx) => reserve(charging, tx, scope, reservation), {
    lockTimeoutMs: charging.budgets.lockMs,
  });
}

async function reserve(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  reservation: RefundReservation,
): Promise<ReservedRefund> {
  const intent =
    reservation.paymentIntentId === null ? undefined : await findIntent(tx, scope, reservation.paymentIntentId);
  if (reservation.paymentIntentId !== null && intent === undefined) throw new Failure('payment_intent_not_found');
  if (intent !== undefined && intent.status !== 'succeeded') throw new Failure('payment_intent_not_succeeded');
  const sessionId = reservation.sessionId ?? intent?.sessionId ?? null;
  const session = sessionId === null ? undefined : await lockSession(tx, scope, sessionId);
  if (sessionId !== null && session === undefined) throw new Failure('checkout_session_not_found');

  const earlier = await findReservation(tx, scope, reservation.refundId);
  if (earlier !== undefined) return answerEarlier(tx, scope, earlier, session);

  // Only now: what was reserved while the account had the feature is answered all the same, or it would never be given back.
  if (reservation.instruction.methods.length > 0 && !reservation.features.includes('refund_payment_methods')) {
    throw new Failure('payment_method_allocation_not_enabled');
  }

  const subject = session === undefined ? intent?.invoiceId : session.id;
  await refuseWhileCharging(tx, scope, session === undefined ? 'invoice' : 'session', subject ?? null);
  const at =
    session === undefined
      ? await actingTime(tx, scope, charging.clock, intent?.customerId ?? null)
      : await timeOnClock(tx, scope, charging.clock, session.testClockId);
  const found = await lockIntents(tx, scope, intent === undefined ? (session?.paymentIntentIds ?? []) : [intent.id]);
  const intents = found.filter((candidate) => candidate.status === 'succeeded');
  const lines = session === undefined ? [] : await loadSessionLines(tx, scope, session.id);
  const allocation = await allocate(tx, scope, reservation.instruction, session, intents, lines);
  const amounts = new Map(allocation.cards.map((card) => [card.paymentIntentId, card.amount]));
  if (reservation.preview) return { cards: await describe(tx, scope, intents, amounts), session, at };

  if (!(await claimRefund(tx, scope, reservation.refundId, 'reserved'))) {
    const other = await findReservation(tx, scope, reservation.refundId);
    // It was closed before this call, which was lost on its way, came in: nobody waits for it any more.
    if (other === undefined) throw new Failure('conflict');
    return answerEarlier(tx, scope, other, session);
  }
  await insertReservation(tx, scope, {
    refundId: reservation.refundId,
    sessionId,
    paymentIntentId: intent?.id ?? null,
    allocation,
    at,
  });
  const refunded = await Promise.all(
    allocation.cards.map((card) => moveRefunded(tx, scope, card.paymentIntentId, card.amount)),
  );
  await Promise.all(refunded.map((card) => appendRefundedCharge(tx, scope, card, at)));
  const cards = await describe(tx, scope, refunded, amounts);
  return {
    cards,
    session: session && (await refundSession(tx, scope, session, reservation.refundId, allocation, at)),
    at,
  };
}

// What was given back, wholly or in part, has failed at the processor: nobody may be told to begin it.
async function answerEarlier(
  tx: Tx,
  scope: Scope,
  earlier: Reservation,
  session: Session | undefined,
): Promise<ReservedRefund> {
  if (earlier.parts.some((part) => part.released)) throw new Failure('conflict');
  const intents = await lockIntents(
    tx,
    scope,
    earlier.parts.map((part) => part.paymentIntentId),
  );
  const amounts = new Map(earlier.parts.map((part) => [part.paymentIntentId, part.amountCents]));
  return { cards: await describe(tx, scope, intents, amounts), session, at: earlier.actingAt };
}

async function refuseWhileCharging(
  tx: Tx,
  scope: Scope,
  purpose: 'session' | 'invoice',
  subjectId: string | null,
): Promise<void> {
  if (subjectId === null) return;
  const live = await liveAttempts(tx, scope, purpose, subjectId);
  const plan = purpose === 'session' ? await lockLivePlan(tx, scope, subjectId) : undefined;
  const isPaying = plan?.plan.state === 'running' || plan?.plan.state === 'releasing';
  if (isPaying || live.some((attempt) => attempt.status !== 'succeeded'))
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
}

async function allocate(
  tx: Tx,
  scope: Scope,
  instruction: RefundInstruction,
  session: Session | undefined,
  intents: readonly PaymentIntent[],
  lines: readonly SessionLine[],
): Promise<RefundAllocation> {
  const none = { tax: cents(0), shipping: cents(0), discount: cents(0) };
  const components =
    session === undefined ? { captured: none, refunded: none } : await loadRefundComponents(tx, scope, session.id);
  const own = new Set(intents.map((intent) => intent.id));
  return allocateRefund(
    {
      cards: intents.map((intent) => ({
        paymentIntentId: intent.id,
        paymentMethodId: intent.paymentMethodId ?? '',
        receivedCents: intent.amountReceivedCents,
        refundedCents: intent.amountRefundedCents,
      })),
      // An invoice has no lines here: the whole of its one charge stands for them.
      lines:
        session === undefined
          ? intents.map(wholeAsLine)
          : lines.map((line) => ({
              id: line.id,
              priceId: line.priceId,
              productId: line.productId,
              paymentIntentId:
                line.paymentIntentId !== null && own.has(line.paymentIntentId) ? line.paymentIntentId : null,
              capturedCents: line.amountCapturedCents,
              refundedCents: line.amountRefundedCents,
              taxCents: line.amountTaxCents,
              shippingCents: line.amountShippingCents,
              discountCents: line.amountDiscountCents,
            })),
      ...components,
    },
    instruction,
  );
}

function wholeAsLine(intent: PaymentIntent) {
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

async function refundSession(
  tx: Tx,
  scope: Scope,
  session: Session,
  refundId: string,
  allocation: RefundAllocation,
  at: Date,
): Promise<Session> {
  const amounts = allocation.cards.map((card) => card.amount);
  const after: Session = {
    ...session,
    refundIds: [...session.refundIds, refundId],
    amountRefundedCents: cents(session.amountRefundedCents + sumCents(amounts)),
  };
  const [saved] = await Promise.all([
    saveSession(tx, scope, session, after),
    moveRefundComponents(tx, scope, session.id, allocation),
  ]);
  await appendSessionEvent(tx, scope, 'checkout.session.refunded', saved, at);
  return saved;
}

async function appendRefundedCharge(tx: Tx, scope: Scope, intent: PaymentIntent, at: Date): Promise<void> {
  const charge = intent.latestChargeId === null ? undefined : await findCharge(tx, scope, intent.latestChargeId);
  if (charge !== undefined) await appendChargeEvent(tx, scope, 'charge.refunded', charge, at);
}

async function describe(
  tx: Tx,
  scope: Scope,
  intents: readonly PaymentIntent[],
  amounts: ReadonlyMap<string, number>,
): Promise<ReservedCard[]> {
  const cards: ReservedCard[] = [];
  for (const intent of intents) {
    const amountCents = amounts.get(intent.id) ?? 0;
    if (amountCents === 0) continue;
    const method =
      intent.paymentMethodId === null ? undefined : await findPaymentMethod(tx, scope, intent.paymentMethodId);
    cards.push({ intent, amountCents, last4: method?.card.last4 ?? '' });
  }
  return cards;
}
