import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { type AttemptStatus, type Leg, noHealthcare } from '../domain/charge-attempt.ts';
import { nextStep, type PlanProgress, type PlanStep } from '../domain/payment-plan.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { liveAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { insertOperation } from '../store/intent-operations.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import {
  loadPlanParts,
  type PaymentPlan,
  type PlanParts,
  type PlanState,
  PlanTakenOver,
  postponePlan,
  savePlan,
} from '../store/payment-plans.ts';
import { findChargeableCards } from '../store/session-payments.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { attemptAsCreated, beginAttempt, healthcareOf } from './begin-attempt.ts';
import { finishHold } from './finish-hold.ts';
import { finishPaidSession } from './pay-session.ts';
import { sendAttempt } from './send-attempt.ts';
import { settleAttempt } from './settle-attempt.ts';

// Authorize, charge, capture or release, finish: with a step to spare for each.
const mostSteps = 8;
// A hold on the health card alone is let go after this (decisions 13).
const secondCardWaitMs = 3_600_000;

/**
 * Takes a shopper's payment as far as it goes now: until the session is paid, waits for something, or was refused. Each step is decided from
 * the stored rows alone. The caller holds the plan's lease; what is left open is given back to the sweeper.
 */
export async function drivePlan(
  charging: Charging,
  scope: Scope,
  begun: PaymentPlan,
  deadlineMs: number,
): Promise<void> {
  let plan = begun;
  try {
    for (let count = 0; count < mostSteps; count++) {
      const parts = await loadPlanParts(charging.database, scope, plan.id);
      if (parts === undefined) throw new Error(`payment plan ${plan.id} is gone`);
      const step = nextStep(progressOf(plan, parts));
      const next = await takeStep(charging, scope, plan, parts, step, deadlineMs);
      if (next === undefined) return;
      plan = next;
    }
    await giveBack(charging, scope, plan);
  } catch (error) {
    if (error instanceof PlanTakenOver) return;
    await giveBack(charging, scope, plan);
    throw error;
  }
}

function progressOf(plan: PaymentPlan, parts: PlanParts): PlanProgress {
  const operation = (kind: 'capture' | 'cancel', actual: string | null, status: string | null) =>
    actual === kind ? (status as 'pending' | 'done') : undefined;
  return {
    healthCents: plan.healthCents,
    otherCents: plan.otherCents,
    otherCardKnown: plan.otherPaymentMethodId !== null,
    holdsOnly: plan.holdsOnly,
    releasing: plan.state === 'releasing',
    health: (parts.health_status ?? undefined) as AttemptStatus | undefined,
    healthHeld: parts.health_capture === 'manual',
    healthCapture: operation('capture', parts.health_operation, parts.health_operation_status),
    healthRelease: operation('cancel', parts.health_operation, parts.health_operation_status),
    other: (parts.other_status ?? undefined) as AttemptStatus | undefined,
    otherHeld: parts.other_capture === 'manual',
    otherRelease: operation('cancel', parts.other_operation, parts.other_operation_status),
  };
}

// The plan as it is after the step, or undefined when there is nothing more to do now.
async function takeStep(
  charging: Charging,
  scope: Scope,
  plan: PaymentPlan,
  parts: PlanParts,
  step: PlanStep,
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  switch (step) {
    case 'authorize_health':
      return chargeLeg(charging, scope, plan, 'health', deadlineMs);
    case 'pay_other':
      return chargeLeg(charging, scope, plan, 'other', deadlineMs);
    case 'capture_health':
      return endHold(charging, scope, plan, plan.healthAttemptId, 'capture', deadlineMs);
    case 'release_health':
      return endHold(charging, scope, plan, plan.healthAttemptId, 'cancel', deadlineMs);
    case 'release_other':
      return endHold(charging, scope, plan, plan.otherAttemptId, 'cancel', deadlineMs);
    case 'wait_for_processor':
      await giveBack(charging, scope, plan);
      return undefined;
    case 'await_second_card':
      return conclude(charging, scope, plan, 'awaiting_second_card', (session) => ({
        ...session,
        nextAction: {
          type: 'provide_second_payment_method',
          message: 'A second payment method is needed for what is not eligible.',
          ...urlOf(session),
          eligibleAmountCents: plan.healthCents,
          ineligibleAmountCents: plan.otherCents,
        },
      }));
    case 'await_capture':
      return conclude(charging, scope, plan, 'awaiting_capture', (session) => ({
        ...session,
        status: 'paid',
        nextAction: session.letterRequired ? { type: 'collect_letter_of_medical_necessity', ...urlOf(session) } : null,
      }));
    case 'complete':
      return conclude(charging, scope, plan, 'done', (session) => ({
        ...session,
        status: 'complete',
        completedAt: plan.actingAt,
        nextAction: null,
      }));
    case 'fail':
      return conclude(charging, scope, plan, 'failed', (session) =>
        session.status === 'open' ? { ...session, nextAction: paymentFailed(plan, parts, session) } : session,
      );
  }
}

async function chargeLeg(
  charging: Charging,
  scope: Scope,
  plan: PaymentPlan,
  leg: Leg,
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  const { leaseMs } = charging.budgets;
  const cardId = leg === 'health' ? plan.healthPaymentMethodId : plan.otherPaymentMethodId;
  const begun = await withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, plan.sessionId);
    const [card] = cardId === null ? [] : await findChargeableCards(tx, scope, [cardId]);
    if (session === undefined || session.status !== 'open' || card === undefined) return undefined;
    if (await isPaidOtherwise(tx, scope, plan)) return 'paid_otherwise';
    const attempt: NewAttempt = {
      id: newId('charge_attempt'),
      purpose: 'session',
      subjectId: session.id,
      leg,
      driver: 'page',
      eligibilityRecordId: leg === 'health' ? session.splitCartId : null,
      paymentIntentId: newId('payment_intent'),
      customerId: session.customerId ?? card.customerId,
      paymentMethodId: card.id,
      processorPaymentMethodId: card.processorPaymentMethodId,
      processorCustomerId: card.processorCustomerId,
      // On the page the shopper is there to authenticate.
      offSession: session.mode === 'off_session',
      captureMethod: plan.holdsOnly || (leg === 'health' && plan.otherCents > 0) ? 'manual' : 'automatic',
      amountCents: leg === 'health' ? plan.healthCents : plan.otherCents,
      healthcare: leg === 'health' ? healthcareOf(session) : noHealthcare,
      expand: [],
      actingAt: plan.actingAt,
      leaseMs,
    };
    await beginAttempt(tx, scope, attempt, {
      sessionId: session.id,
      invoiceId: session.invoiceId,
      subscriptionId: session.subscriptionId,
    });
    const linked = leg === 'health' ? { healthAttemptId: attempt.id } : { otherAttemptId: attempt.id };
    return { attempt: attemptAsCreated(attempt), plan: await savePlan(tx, scope, { ...plan, ...linked }, leaseMs) };
  });
  if (begun === undefined) {
    return withTx(charging.database, scope, (tx) => savePlan(tx, scope, { ...plan, state: 'releasing' }, leaseMs));
  }
  if (begun === 'paid_otherwise') {
    await giveBack(charging, scope, plan);
    return undefined;
  }
  await charging.failpoint('plan.attempt_begun');
  const sent = await sendAttempt(charging, scope, begun.attempt, deadlineMs);
  if (sent.kind === 'verdict') await settleAttempt(charging, scope, sent.attempt, sent.verdict);
  return begun.plan;
}

// A confirm may have set out since the plan was made. It charges the health leg, and this plan perhaps the other one for the whole session: no
// index keeps the two apart, only this look under the session's lock, which the confirm takes too.
async function isPaidOtherwise(tx: Tx, scope: Scope, plan: PaymentPlan): Promise<boolean> {
  const live = await liveAttempts(tx, scope, 'session', plan.sessionId);
  return live.some(({ id }) => id !== plan.healthAttemptId && id !== plan.otherAttemptId);
}

async function endHold(
  charging: Charging,
  scope: Scope,
  plan: PaymentPlan,
  attemptId: string | null,
  kind: 'capture' | 'cancel',
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  if (attemptId === null) throw new Error(`payment plan ${plan.id} has no hold to ${kind}`);
  const operation = await withTx(charging.database, scope, (tx) =>
    insertOperation(tx, scope, {
      attemptId,
      id: newId('intent_operation'),
      kind,
      at: plan.actingAt,
      leaseMs: charging.budgets.leaseMs,
    }),
  );
  await charging.failpoint('plan.hold_decided');
  if (operation !== undefined)
    await finishHold(charging, scope, operation, Math.max(deadlineMs - performance.now(), 0));
  return plan;
}

async function conclude(
  charging: Charging,
  scope: Scope,
  plan: PaymentPlan,
  state: PlanState,
  change: (session: Session) => Session,
): Promise<undefined> {
  await withTx(charging.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, plan.sessionId);
    if (session === undefined) throw new Error(`session ${plan.sessionId} is gone`);
    const after = change(session);
    const releaseAt =
      state === 'awaiting_second_card' ? new Date(charging.clock.now().getTime() + secondCardWaitMs) : null;
    await Promise.all([
      savePlan(tx, scope, { ...plan, state, releaseAt }, 0),
      releasePaymentLocks(tx, scope, plan.id),
      state === 'done'
        ? finishPaidSession(tx, scope, { session, after, intent: undefined, at: plan.actingAt })
        : saveSession(tx, scope, session, after),
    ]);
    await charging.failpoint('plan.before_conclude_commit');
  });
}

// What is unsettled at the processor has its own sweep; the plan looks again a little after it.
async function giveBack(charging: Charging, scope: Scope, plan: PaymentPlan): Promise<void> {
  await withTx(charging.database, scope, (tx) => postponePlan(tx, scope, plan, 1_000));
}

function paymentFailed(plan: PaymentPlan, parts: PlanParts, session: Session): NextAction {
  const refusedOther = parts.other_status === 'declined' || parts.other_status === 'failed';
  const errorCode = refusedOther ? parts.other_failure_code : parts.health_failure_code;
  const declineCode = refusedOther ? parts.other_decline_code : parts.health_decline_code;
  if (errorCode === null && plan.state === 'releasing') return { type: 'payment_failed', ...urlOf(session) };
  return {
    type: 'payment_failed',
    message: 'The card was declined. Use another card.',
    ...urlOf(session),
    ...(errorCode === null ? {} : { errorCode }),
    ...(declineCode === null ? {} : { declineCode }),
  };
}

function urlOf(session: Session): { url?: string } {
  return session.details.redirectUrl === undefined ? {} : { url: session.details.redirectUrl };
}
