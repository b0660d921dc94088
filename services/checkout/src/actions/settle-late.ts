import { finishKeyOfAttempt, type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt, ProcessorVerdict } from '../domain/charge-attempt.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import type { Session } from '../domain/session.ts';
import { settleAttempt as markSettled } from '../store/charge-attempts.ts';
import { recordCapture } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { releaseRunningPlan } from '../store/payment-plans.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { cancelAndRefund } from './cancel-and-refund.ts';
import { refusalAnswer } from './confirm-answer.ts';
import { appendLateOutcome, isLate } from './late-outcome.ts';
import { finishPaidSession, receiveForSession } from './pay-session.ts';
import { appendChargeEvent, appendIntentEvent, newCharge } from './payment-events.ts';
import { type SettledAttempt, settleAttempt } from './settle-attempt.ts';

type Success = Extract<ProcessorVerdict, { kind: 'succeeded' }>;

/**
 * Settles an attempt whose outcome at the processor became known after its time to confirm. A success counts while the session accepts payments. Once
 * the session has ended, the partner may have sold the order again: the payment is recorded and refunded, and the key answers how the session
 * ended. A page's plan refunds by itself.
 */
export async function settleLate(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
): Promise<SettledAttempt | undefined> {
  if (verdict.kind === 'succeeded' && attempt.purpose === 'session') {
    const refunded = await withTx(context.database, scope, (tx) => refundIfEnded(context, tx, scope, attempt, verdict));
    if (refunded !== undefined) {
      await context.failpoint('late.given_back');
      return refunded;
    }
  }
  return settleAttempt(context, scope, attempt, verdict);
}

async function refundIfEnded(
  context: Context,
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Success,
): Promise<SettledAttempt | undefined> {
  const session = await lockSession(tx, scope, attempt.subjectId);
  if (session === undefined) throw new Error(`Session ${attempt.subjectId} not found`);
  const now = await timeOnClock(tx, scope, context.clock, session.testClockId);
  const refusal = refusalByStatus(session, now);
  // A session that is paid or complete has had its payment: one that does not fit is refused where it is recorded.
  if (refusal === undefined || refusal.code === 'checkout_session_already_processed') return undefined;
  if (attempt.driver === 'page') {
    await releaseRunningPlan(tx, scope, session.id);
    return undefined;
  }
  const first = await markSettled(tx, scope, attempt.id, { status: 'succeeded', failureCode: null, declineCode: null });
  if (!first) return undefined;
  const settled = await captureAndRefund(tx, scope, attempt, verdict, session, now);
  await Promise.all([
    releasePaymentLocks(tx, scope, attempt.id),
    finishKeyOfAttempt(tx, scope, attempt.id, refusalAnswer(refusal)),
  ]);
  await context.failpoint('late.before_give_back_commit');
  return settled;
}

async function captureAndRefund(
  tx: Tx,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: Success,
  session: Session,
  now: Date,
): Promise<SettledAttempt> {
  const { actingAt: at, processorIntentId } = attempt;
  if (processorIntentId === null) throw new Error(`Charge attempt ${attempt.id} succeeded without an intent`);
  const reported = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent = await recordCapture(
    tx,
    scope,
    attempt.paymentIntentId,
    reported,
    newId('ledger_transaction'),
    processorIntentId,
  );
  const after = receiveForSession(session, intent, false);
  const [received] = await Promise.all([
    finishPaidSession(tx, scope, { session, after, intent, at }),
    appendChargeEvent(tx, scope, 'charge.succeeded', newCharge(intent, reported.chargeId, at), at),
    appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at),
    recordEligibilityCharge(tx, scope, session.id, attempt.id),
  ]);
  const ended = await cancelAndRefund(tx, scope, received, now);
  if (isLate(attempt)) await appendLateOutcome(tx, scope, ended, 'failed', now);
  return { attempt: { ...attempt, status: 'succeeded' }, intent, session: ended };
}
