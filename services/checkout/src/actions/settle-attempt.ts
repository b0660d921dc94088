import { finishKeyOfAttempt, type Scope, type StoredAnswer, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import type { Charge, PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findAttempt, settleAttempt as markSettled } from '../store/charge-attempts.ts';
import { findIntent, recordCapture, recordDecline, recordHold } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { wakePlan } from '../store/payment-plans.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import type { ClaimedCharge } from './charge-claim.ts';
import { confirmAnswer, confirmRefusal } from './confirm-answer.ts';
import { openLetters } from './open-letters.ts';
import { finishPaidSession, receiveForSession } from './pay-session.ts';
import { appendChargeEvent, appendIntentEvent, newCharge } from './payment-events.ts';
import { confirmedSession, settleConfirmed } from './settle-confirmed.ts';

/** An attempt whose outcome is recorded, with its intent and, where it has one, its session as they are now. */
export interface SettledAttempt {
  readonly attempt: ChargeAttempt;
  readonly intent: PaymentIntent;
  readonly session: Session | undefined;
  /** What the key of the request answers with, where it is known without reading it back. */
  readonly answer?: StoredAnswer;
}

/**
 * Records what the processor said, in one transaction: attempt, intent, charge, ledger, session, locks, events, and the answer under the
 * request's key. A fact is recorded once, whichever process learned it: a second call finds it settled and changes nothing. `claimed` is what the
 * caller's own claim has read and written; with it a confirm that charged takes one round trip.
 */
export async function settleAttempt(
  charging: Charging,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
  claimed?: ClaimedCharge,
): Promise<SettledAttempt> {
  await charging.failpoint('charge.before_settle');
  const settled =
    claimed === undefined || attempt.driver !== 'confirm' || verdict.kind !== 'succeeded'
      ? undefined
      : await settleConfirmed(charging, scope, attempt, verdict, claimed);
  const recorded = settled ?? (await settleFromRows(charging, scope, attempt, verdict));
  await charging.failpoint('charge.settled');
  return recorded;
}

async function settleFromRows(
  charging: Charging,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
): Promise<SettledAttempt> {
  return withTx(charging.database, scope, async (tx) => {
    const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    const first = await markSettled(tx, scope, attempt.id, {
      status: verdict.kind,
      failureCode: verdict.kind === 'succeeded' ? null : verdict.code,
      declineCode: verdict.kind === 'declined' ? (verdict.declineCode ?? null) : null,
    });
    const result = first
      ? await record(charging, tx, scope, attempt, verdict, session)
      : await alreadySettled(tx, scope, attempt, session);
    await charging.failpoint('charge.before_settle_commit');
    return result;
  });
}

async function alreadySettled(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  session: Session | undefined,
): Promise<SettledAttempt> {
  const [now, intent] = await Promise.all([
    findAttempt(tx, scope, attempt.id),
    findIntent(tx, scope, attempt.paymentIntentId),
  ]);
  if (now === undefined || intent === undefined) throw new Error(`Charge attempt ${attempt.id} not found`);
  return { attempt: now, intent, session };
}

async function record(
  charging: Charging,
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
  session: Session | undefined,
): Promise<SettledAttempt> {
  const at = attempt.actingAt;
  const [, settled] = await Promise.all([
    // A page's cards are locked for its plan.
    attempt.driver === 'page' ? wakePlan(tx, scope, attempt.subjectId) : releasePaymentLocks(tx, scope, attempt.id),
    verdict.kind === 'succeeded'
      ? recordSuccess(tx, scope, attempt, verdict, session, at)
      : recordRefusal(tx, scope, attempt, verdict, session, at),
  ]);
  if (verdict.kind === 'failed') {
    charging.logger.error(
      { attemptId: attempt.id, paymentIntentId: attempt.paymentIntentId, code: verdict.code },
      'Processor rejected a charge request as invalid; the card was not charged',
    );
  }
  return settled;
}

async function recordSuccess(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Extract<ProcessorVerdict, { kind: 'succeeded' }>,
  session: Session | undefined,
  at: Date,
): Promise<SettledAttempt> {
  if (attempt.processorIntentId === null) throw new Error(`Charge attempt ${attempt.id} succeeded without an intent`);
  const reported = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent = verdict.capturable
    ? await recordHold(tx, scope, attempt.paymentIntentId, reported, attempt.processorIntentId)
    : await recordCapture(
        tx,
        scope,
        attempt.paymentIntentId,
        reported,
        newId('ledger_transaction'),
        attempt.processorIntentId,
      );
  const charge = newCharge(intent, reported.chargeId, at);
  const events = [appendChargeEvent(tx, scope, 'charge.succeeded', charge, at)];
  if (!verdict.capturable) events.push(appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at));
  if (session !== undefined && attempt.leg === 'health') {
    events.push(recordEligibilityCharge(tx, scope, session.id, attempt.id));
  }
  const [paid] = await Promise.all([
    session && followSession(tx, scope, attempt, intent, session, verdict.capturable),
    ...events,
  ]);
  return { attempt: { ...attempt, status: 'succeeded' }, intent, session: paid };
}

async function followSession(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  intent: PaymentIntent,
  session: Session,
  held: boolean,
): Promise<Session> {
  if (attempt.driver !== 'confirm') {
    return finishPaidSession(tx, scope, {
      session,
      after: receiveForSession(session, intent, held),
      intent: held ? undefined : intent,
      at: attempt.actingAt,
    });
  }
  const after: Session = held
    ? {
        ...receiveForSession(session, intent, true),
        status: 'paid',
        // The hold waits for the approval of its letters.
        nextAction: await openLetters(tx, scope, session, attempt.actingAt),
      }
    : confirmedSession(session, intent, attempt.actingAt);
  const saved = await finishPaidSession(tx, scope, {
    session,
    after,
    intent: held ? undefined : intent,
    at: attempt.actingAt,
  });
  await finishKeyOfAttempt(tx, scope, attempt.id, await confirmAnswer(tx, scope, saved, intent, attempt.expand));
  return saved;
}

async function recordRefusal(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Exclude<ProcessorVerdict, { kind: 'succeeded' }>,
  session: Session | undefined,
  at: Date,
): Promise<SettledAttempt> {
  const chargeId = newId('charge');
  const declineCode = verdict.kind === 'declined' ? (verdict.declineCode ?? null) : null;
  const intent = await recordDecline(
    tx,
    scope,
    attempt.paymentIntentId,
    {
      chargeId,
      processorChargeId: verdict.kind === 'declined' ? (verdict.chargeId ?? null) : null,
      at,
      failureCode: verdict.code,
      declineCode,
    },
    attempt.processorIntentId,
  );
  const charge: Charge = {
    ...newCharge(intent, chargeId, at),
    status: 'failed',
    amountCapturedCents: intent.amountReceivedCents,
    failureCode: verdict.code,
    declineCode,
  };
  await Promise.all([
    appendChargeEvent(tx, scope, 'charge.failed', charge, at),
    appendIntentEvent(tx, scope, 'payment_intent.payment_failed', intent, at),
    attempt.driver === 'confirm' ? finishKeyOfAttempt(tx, scope, attempt.id, confirmRefusal(verdict)) : undefined,
  ]);
  const refused = { ...attempt, status: verdict.kind, failureCode: verdict.code, declineCode };
  return { attempt: refused, intent, session };
}
