import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import {
  type ChargeAttempt,
  type ProcessorVerdict,
  type RefusalVerdict,
  settlementOf,
} from '../domain/charge-attempt.ts';
import { holdTimeOf } from '../domain/hold.ts';
import { isRenewableFor, renewalTimeOf } from '../domain/hold-renewal.ts';
import { awaitsLetters } from '../domain/letter.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findAttempt, liveAttempts, settleAttempt as markSettled } from '../store/charge-attempts.ts';
import { findRenewal, replaceHold } from '../store/hold-renewals.ts';
import { recordCaptureBefore } from '../store/holds.ts';
import { findDecision, insertVoid } from '../store/intent-operations.ts';
import { findIntent, recordHold } from '../store/payment-intents.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { endReviewWithHold } from './end-review-with-hold.ts';
import { appendChargeEvent, newCharge } from './payment-events.ts';
import { recordRefusedCharge } from './record-refused-charge.ts';

type Success = Extract<ProcessorVerdict, { kind: 'succeeded' }>;

/** The hold that a renewal is for, while it is still the session's. */
interface Renewed {
  readonly intent: PaymentIntent;
  readonly attempt: ChargeAttempt;
}

/**
 * Records the outcome of a renewal, in one transaction. A new hold takes the place of the old one, which is voided then: at each moment one of the two can be
 * captured. Where the session does not wait for letters any more, the new hold is voided. A refusal ends the review with the old hold.
 */
export async function settleRenewal(
  context: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  verdict: ProcessorVerdict,
): Promise<{ attempt: ChargeAttempt; intent: PaymentIntent; session: Session | undefined }> {
  return withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, attempt.subjectId);
    if (session === undefined) throw new Error(`Session ${attempt.subjectId} not found`);
    const first = await markSettled(tx, scope, attempt.id, settlementOf(verdict));
    const before = first ? await findRenewed(tx, scope, session, attempt) : undefined;
    let after = session;
    if (first && verdict.kind === 'succeeded')
      after = await hold(context, tx, scope, { attempt, verdict, session, before });
    if (first && verdict.kind !== 'succeeded') await refuse(context, tx, scope, { attempt, verdict, session, before });
    await context.failpoint('charge.before_settle_commit');
    const [settled, intent] = await Promise.all([
      findAttempt(tx, scope, attempt.id),
      findIntent(tx, scope, attempt.paymentIntentId),
    ]);
    if (settled === undefined || intent === undefined) throw new Error(`Charge attempt ${attempt.id} not found`);
    return { attempt: settled, intent, session: after };
  });
}

// Undefined once the session does not wait for letters, or the hold is gone or ends.
async function findRenewed(
  tx: Tx,
  scope: Scope,
  session: Session,
  { paymentIntentId, leg }: ChargeAttempt,
): Promise<Renewed | undefined> {
  if (!awaitsLetters(session)) return undefined;
  const { renews } = await findRenewal(tx, scope, paymentIntentId);
  const live = await liveAttempts(tx, scope, 'session', session.id);
  const attempt = live.find((one) => one.leg === leg && one.paymentIntentId === renews);
  if (attempt === undefined || renews === null) return undefined;
  const [intent, decision] = await Promise.all([findIntent(tx, scope, renews), findDecision(tx, scope, renews)]);
  return intent?.status === 'requires_capture' && decision === undefined ? { intent, attempt } : undefined;
}

async function hold(
  context: Context,
  tx: Tx,
  scope: Scope,
  {
    attempt,
    verdict,
    session,
    before,
  }: { attempt: ChargeAttempt; verdict: Success; session: Session; before: Renewed | undefined },
): Promise<Session> {
  if (attempt.processorIntentId === null) throw new Error(`Charge attempt ${attempt.id} succeeded without an intent`);
  if (!verdict.capturable) throw new Error(`Charge attempt ${attempt.id} was to hold its card, and has charged it`);
  const at = attempt.actingAt;
  const now = context.clock.now();
  const time = holdTimeOf(verdict.captureBefore, now, true);
  const charge = { chargeId: newId('charge'), processorChargeId: verdict.chargeId, at };
  const intent = await recordHold(
    tx,
    scope,
    attempt.paymentIntentId,
    { ...charge, hold: time },
    attempt.processorIntentId,
  );
  await appendChargeEvent(tx, scope, 'charge.succeeded', newCharge(intent, charge.chargeId, at), at);
  if (before === undefined) {
    await insertVoid(tx, scope, { attemptId: attempt.id, id: newId('intent_operation'), at, leaseMs: 0 });
    return session;
  }
  await replaceHold(tx, scope, before.attempt, attempt);
  await insertVoid(tx, scope, { attemptId: before.attempt.id, id: newId('intent_operation'), at, leaseMs: 0 });
  if (attempt.leg === 'health') await recordEligibilityCharge(tx, scope, session.id, attempt.id);
  await follow(context, tx, scope, session, intent, now);
  return saveSession(tx, scope, session, {
    ...session,
    paymentIntentIds: session.paymentIntentIds.map((id) => (id === before.intent.id ? intent.id : id)),
  });
}

// A hold that is too short for another renewal ends the review.
async function follow(
  context: Context,
  tx: Tx,
  scope: Scope,
  session: Session,
  intent: PaymentIntent,
  now: Date,
): Promise<void> {
  const { captureBefore } = intent;
  if (captureBefore === null) throw new Error(`Payment intent ${intent.id} holds nothing`);
  if (isRenewableFor(captureBefore, now)) {
    return recordCaptureBefore(tx, scope, intent.id, { captureBefore, checkAt: renewalTimeOf(captureBefore) });
  }
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  await endReviewWithHold(tx, scope, session, intent, { at, now });
}

async function refuse(
  context: Context,
  tx: Tx,
  scope: Scope,
  {
    attempt,
    verdict,
    session,
    before,
  }: { attempt: ChargeAttempt; verdict: RefusalVerdict; session: Session; before: Renewed | undefined },
): Promise<void> {
  await recordRefusedCharge(tx, scope, attempt, verdict);
  if (verdict.kind === 'failed') {
    context.logger.error(
      { attemptId: attempt.id, paymentIntentId: attempt.paymentIntentId, code: verdict.code },
      'Processor rejected the renewal of a hold as invalid; the card is not held again',
    );
  }
  // The session does not wait for letters any more, or its hold ends: nothing depends on the renewal.
  if (before === undefined) return;
  const { failureCode: code, declineCode } = settlementOf(verdict);
  context.logger.warn(
    {
      ...{ accountId: scope.accountId, testMode: scope.testMode, sessionId: session.id, attemptId: attempt.id },
      ...{ paymentIntentId: attempt.paymentIntentId, code, declineCode },
    },
    'Failed to renew a hold; the letter review will end before the hold lapses',
  );
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  await endReviewWithHold(tx, scope, session, before.intent, { at, now: context.clock.now() });
}
