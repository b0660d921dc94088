import { finishKeyOfAttempt, type Scope, type StoredAnswer, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import {
  type ChargeAttempt,
  type ProcessorVerdict,
  type RefusalVerdict,
  settlementOf,
} from '../domain/charge-attempt.ts';
import { holdTimeOf } from '../domain/hold.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findAttempt, settleAttempt as markSettled } from '../store/charge-attempts.ts';
import { findIntent, recordCapture, recordHold } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { recordConfirmedMethod } from '../store/payment-methods.ts';
import { wakePlan } from '../store/payment-plans.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { appendChargeAuthenticated } from './authentication-command.ts';
import type { ClaimedCharge, ClaimedInvoiceCharge } from './charge-claim.ts';
import { confirmAnswer, confirmRefusal } from './confirm-answer.ts';
import { appendLateOutcome, isLate } from './late-outcome.ts';
import { openLetters } from './open-letters.ts';
import { recordApprovedPart, recordLineTenders } from './pay-in-part.ts';
import { finishPaidSession, receiveForSession } from './pay-session.ts';
import { appendChargeEvent, appendIntentEvent, newCharge } from './payment-events.ts';
import { recordRefusedCharge } from './record-refused-charge.ts';
import { confirmedMethod, confirmedSession, settleConfirmed } from './settle-confirmed.ts';
import { settlePaidInvoice } from './settle-paid-invoice.ts';
import { settleRenewal } from './settle-renewal.ts';

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
 * caller's own claim has read and written; with it a charge that completes its session, or pays an invoice, takes one round trip.
 */
export async function settleAttempt(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
  claimed?: ClaimedCharge | ClaimedInvoiceCharge,
): Promise<SettledAttempt> {
  await context.failpoint('charge.before_settle');
  if (attempt.purpose === 'renewal') {
    const renewed = await settleRenewal(context, scope, attempt, verdict);
    await context.failpoint('charge.settled');
    return renewed;
  }
  const recorded =
    (await settleAsClaimed(context, scope, attempt, verdict, claimed)) ??
    (await settleFromRows(context, scope, attempt, verdict));
  await context.failpoint('charge.settled');
  return recorded;
}

async function settleAsClaimed(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
  claimed: ClaimedCharge | ClaimedInvoiceCharge | undefined,
): Promise<SettledAttempt | undefined> {
  if (claimed === undefined || verdict.kind !== 'succeeded') return undefined;
  if (attempt.driver === 'invoice') return settlePaidInvoice(context, scope, attempt, verdict, claimed.intent);
  if (claimed.session === undefined) return undefined;
  return claimed.settle === undefined
    ? settleConfirmed(context, scope, attempt, verdict, claimed)
    : claimed.settle(attempt, verdict);
}

// The line carries the request id that the partner received, and the processor's own names for the refusal.
function logDecline(
  context: Context,
  { accountId, testMode }: Scope,
  attempt: ChargeAttempt,
  verdict: Extract<ProcessorVerdict, { kind: 'declined' }>,
): void {
  const { id: attemptId, subjectId, paymentIntentId, processorIntentId } = attempt;
  const { code, declineCode } = verdict;
  context.logger.info(
    { accountId, testMode, recordId: subjectId, attemptId, paymentIntentId, processorIntentId, code, declineCode },
    'Card was declined',
  );
}

async function settleFromRows(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
): Promise<SettledAttempt> {
  return withTx(context.database, scope, async (tx) => {
    const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    const part = verdict.kind === 'succeeded' ? verdict.partCents : undefined;
    if (part !== undefined) await recordApprovedPart(tx, scope, attempt, part);
    const first = await markSettled(tx, scope, attempt.id, settlementOf(verdict));
    const result = first
      ? await record(context, tx, scope, attempt, verdict, session)
      : await alreadySettled(tx, scope, attempt, session);
    await context.failpoint('charge.before_settle_commit');
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
  context: Context,
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
      ? recordSuccess(tx, scope, attempt, verdict, session, context.clock.now())
      : recordRefusal(tx, scope, attempt, verdict, session, at),
  ]);
  await appendChargeAuthenticated(tx, scope, settled.attempt, settled.intent);
  if (verdict.kind === 'declined') logDecline(context, scope, attempt, verdict);
  if (verdict.kind === 'failed') {
    context.logger.error(
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
  now: Date,
): Promise<SettledAttempt> {
  const at = attempt.actingAt;
  if (attempt.processorIntentId === null) throw new Error(`Charge attempt ${attempt.id} succeeded without an intent`);
  const reported = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent = verdict.capturable
    ? await recordHold(
        tx,
        scope,
        attempt.paymentIntentId,
        { ...reported, hold: holdTimeOf(verdict.captureBefore, now, attempt.offSession), partCents: verdict.partCents },
        attempt.processorIntentId,
      )
    : await recordCapture(
        tx,
        scope,
        attempt.paymentIntentId,
        reported,
        newId('ledger_transaction'),
        attempt.processorIntentId,
      );
  if (session !== undefined && verdict.capturable && attempt.driver === 'page' && attempt.leg === 'other') {
    await recordLineTenders(tx, scope, session, intent);
  }
  const charge = newCharge(intent, reported.chargeId, at);
  const events = [appendChargeEvent(tx, scope, 'charge.succeeded', charge, at)];
  if (!verdict.capturable) events.push(appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at));
  if (session !== undefined && attempt.leg === 'health') {
    events.push(recordEligibilityCharge(tx, scope, session.id, attempt.id));
  }
  const method = confirmedMethod(attempt, verdict);
  if (method !== undefined) events.push(recordConfirmedMethod(tx, scope, method));
  const [paid] = await Promise.all([
    session && followSession(tx, scope, attempt, { intent, session, held: verdict.capturable, now }),
    ...events,
  ]);
  return { attempt: { ...attempt, status: 'succeeded' }, intent, session: paid };
}

async function followSession(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  paid: { readonly intent: PaymentIntent; readonly session: Session; readonly held: boolean; readonly now: Date },
): Promise<Session> {
  const { intent, session, held, now } = paid;
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
        nextAction: await openLetters(tx, scope, session, { at: attempt.actingAt, now }),
      }
    : confirmedSession(session, intent, attempt.actingAt);
  const saved = await finishPaidSession(tx, scope, {
    session,
    after,
    intent: held ? undefined : intent,
    at: attempt.actingAt,
  });
  await finishKeyOfAttempt(tx, scope, attempt.id, await confirmAnswer(tx, scope, saved, intent, attempt.expand));
  if (isLate(attempt)) await appendLateOutcome(tx, scope, saved, 'succeeded', attempt.actingAt);
  return saved;
}

async function recordRefusal(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: RefusalVerdict,
  session: Session | undefined,
  at: Date,
): Promise<SettledAttempt> {
  const [intent] = await Promise.all([
    recordRefusedCharge(tx, scope, attempt, verdict),
    attempt.driver === 'confirm' ? finishKeyOfAttempt(tx, scope, attempt.id, confirmRefusal(verdict)) : undefined,
  ]);
  if (session && isLate(attempt)) await appendLateOutcome(tx, scope, session, 'failed', at);
  return { attempt: { ...attempt, ...settlementOf(verdict) }, intent, session };
}
