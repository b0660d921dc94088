import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { dollars, given, newId, processorAccountOfRow } from '@eligo/values';
import type { Context } from '../context.ts';
import { allHeld } from '../domain/capture-allocation.ts';
import { type AttemptStatus, type ChargeAttempt, canceledLate, type Leg } from '../domain/charge-attempt.ts';
import {
  needsProcessor,
  nextStep,
  type PlanProgress,
  type PlanStep,
  type ReleaseCause,
} from '../domain/payment-plan.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import { type IntentOperation, insertVoid } from '../store/intent-operations.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import {
  loadPlanParts,
  type PaymentPlan,
  type PlanParts,
  type PlanState,
  PlanTakenOver,
  planNow,
  postponePlan,
  savePlan,
} from '../store/payment-plans.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { abandonAttempt } from './abandon-attempt.ts';
import { cancelAndRefund } from './cancel-and-refund.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { carryOutCapture } from './carry-out-capture.ts';
import type { ClaimedCharge } from './charge-claim.ts';
import { chargeLeg } from './charge-leg.ts';
import { finishHold } from './finish-hold.ts';
import { appendLateOutcome } from './late-outcome.ts';
import { openLetters } from './open-letters.ts';
import { finishPaidSession } from './pay-session.ts';
import { planCapture, writeCapture } from './request-capture.ts';

// Authorize, charge, capture or release, finish: with a step to spare for each.
const mostSteps = 8;
// A hold on the health card alone is voided after this (decisions 13).
const secondCardWaitMs = 3_600_000;
// A waiting plan is checked again after these times; settling what it waits for wakes it.
const waits = { firstMs: 1_000, mostMs: 30_000 };

/**
 * Advances a shopper's payment until the session is paid, the payment is refused, or it has to wait. The stored rows alone decide each step.
 * The caller holds the plan's lease; if the plan is not finished, this releases the lease to the sweeper.
 */
export async function carryOutPlan(
  context: Context,
  scope: Scope,
  begun: PaymentPlan,
  deadlineMs: number,
): Promise<void> {
  let plan = begun;
  try {
    for (let count = 0; count < mostSteps; count++) {
      const parts = await loadPlanParts(context.database, scope, plan);
      if (parts === undefined) throw new Error(`Payment plan ${plan.id} not found`);
      plan = planNow(plan, parts);
      const step = nextStep(progressOf(plan, parts));
      if (needsProcessor(step) && !canAsk(context, scope, parts, deadlineMs)) break;
      const next = await takeStep(context, scope, plan, parts, step, deadlineMs);
      if (next === undefined) return;
      plan = next;
    }
    await releasePlan(context, scope, plan);
  } catch (error) {
    if (error instanceof PlanTakenOver) return;
    await releasePlan(context, scope, plan);
    throw error;
  }
}

/**
 * Charges the first card of a plan whose attempt was begun with it, and carries the plan out from there. Returns the session when the charge has completed
 * it. The caller holds both leases.
 */
export async function carryOutBegun(
  context: Context,
  scope: Scope,
  {
    plan,
    attempt,
    claimed,
  }: { readonly plan: PaymentPlan; readonly attempt: ChargeAttempt; readonly claimed?: ClaimedCharge },
  deadlineMs: number,
): Promise<Session | undefined> {
  try {
    const settled = await carryOutAttempt(context, scope, attempt, deadlineMs, claimed);
    if (settled?.session?.status === 'complete') return settled.session;
    if (settled === undefined) {
      await releasePlan(context, scope, plan);
      return undefined;
    }
  } catch (error) {
    await releasePlan(context, scope, plan);
    throw error;
  }
  await carryOutPlan(context, scope, plan, deadlineMs);
  return undefined;
}

// Not when it is known to be down, and not with next to no time: what is cut off is unknown, and has to be found out.
function canAsk(context: Context, scope: Scope, parts: PlanParts, deadlineMs: number): boolean {
  // Where none is configured any more, each step postpones its own work and tells the operator.
  const isDown = context.processors.findAt(scope, processorAccountOfRow(parts))?.isDown() === true;
  return !isDown && deadlineMs - performance.now() > context.budgets.callMs / 20;
}

function progressOf(plan: PaymentPlan, parts: PlanParts): PlanProgress {
  const operation = (kind: 'capture' | 'cancel', actual: string | null, status: string | null) =>
    actual === kind ? (status as 'pending' | 'done') : undefined;
  return {
    healthCents: plan.healthCents,
    otherCents: plan.otherCents,
    otherCardKnown: plan.otherPaymentMethodId !== null,
    holdsOnly: plan.holdsOnly,
    isInPart: plan.askedCents !== null,
    releasing: plan.state === 'releasing',
    timeOver: parts.time_over,
    health: (parts.health_status ?? undefined) as AttemptStatus | undefined,
    healthHeld: parts.health_capture === 'manual',
    healthCapture: operation('capture', parts.health_operation, parts.health_operation_status),
    healthRelease: operation('cancel', parts.health_operation, parts.health_operation_status),
    other: (parts.other_status ?? undefined) as AttemptStatus | undefined,
    otherHeld: parts.other_capture === 'manual',
    otherCapture: operation('capture', parts.other_operation, parts.other_operation_status),
    otherRelease: operation('cancel', parts.other_operation, parts.other_operation_status),
  };
}

// The plan as it is after the step, or undefined when there is nothing more to do now.
async function takeStep(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  parts: PlanParts,
  step: PlanStep,
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  switch (step) {
    case 'authorize_health':
      return charge(context, scope, plan, 'health', deadlineMs);
    case 'pay_other':
      return charge(context, scope, plan, 'other', deadlineMs);
    case 'give_up_unsent':
      return abandonUnsent(context, scope, plan);
    case 'capture_health':
      return endHoldOfPlan(context, scope, plan, plan.healthAttemptId, 'capture', deadlineMs);
    case 'capture_both':
      return captureBoth(context, scope, plan, deadlineMs);
    case 'release_health':
      return endHoldOfPlan(context, scope, plan, plan.healthAttemptId, 'cancel', deadlineMs);
    case 'release_other':
      return endHoldOfPlan(context, scope, plan, plan.otherAttemptId, 'cancel', deadlineMs);
    case 'wait_for_processor':
      await releasePlan(context, scope, plan);
      return undefined;
    case 'await_second_card':
      return conclude(context, scope, plan, parts, 'awaiting_second_card', (tx, session) =>
        saveSession(tx, scope, session, {
          ...session,
          nextAction: {
            type: 'provide_second_payment_method',
            message: secondCardMessage(plan, parts),
            ...given({ url: session.details.redirectUrl }),
            eligibleAmountCents: plan.healthCents,
            ineligibleAmountCents: plan.otherCents,
          },
        }),
      );
    case 'await_capture':
      return conclude(context, scope, plan, parts, 'awaiting_capture', async (tx, session) => {
        // What an ordinary card pays needs no letter.
        const needsLetters = session.letterRequired && plan.healthCents > 0;
        const at = plan.actingAt;
        const nextAction = needsLetters
          ? await openLetters(tx, scope, session, { at, now: context.clock.now() })
          : null;
        return saveSession(tx, scope, session, { ...session, status: 'paid', nextAction });
      });
    case 'complete':
      return conclude(context, scope, plan, parts, 'done', (tx, session) => {
        const after: Session = { ...session, status: 'complete', completedAt: plan.actingAt, nextAction: null };
        return finishPaidSession(tx, scope, { session, after, intent: undefined, at: plan.actingAt });
      });
    case 'refund':
      return conclude(context, scope, plan, parts, 'failed', async (tx, session) =>
        cancelAndRefund(tx, scope, session, await timeOnClock(tx, scope, context.clock, session.testClockId)),
      );
    case 'fail':
      return conclude(context, scope, plan, parts, 'failed', async (tx, session) => {
        // Its holds were all that it was paid with.
        if (session.status === 'paid') {
          return cancelAndRefund(tx, scope, session, await timeOnClock(tx, scope, context.clock, session.testClockId));
        }
        if (session.status !== 'open') return session;
        return saveSession(tx, scope, session, { ...session, nextAction: paymentFailed(plan, parts, session) });
      });
  }
}

async function charge(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  leg: Leg,
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  const charged = await chargeLeg(context, scope, plan, leg, deadlineMs);
  switch (charged.kind) {
    case 'settled':
      return charged.plan;
    case 'release':
      return withTx(context.database, scope, (tx) =>
        savePlan(tx, scope, { ...plan, state: 'releasing', releaseCause: charged.cause }, context.budgets.leaseMs),
      );
    case 'wait':
      await releasePlan(context, scope, charged.plan);
      return undefined;
  }
}

// Releasing unsent attempts needs no processor.
async function abandonUnsent(context: Context, scope: Scope, plan: PaymentPlan): Promise<PaymentPlan | undefined> {
  const given = await withTx(context.database, scope, async (tx) => {
    await lockSession(tx, scope, plan.sessionId);
    let count = 0;
    for (const id of [plan.healthAttemptId, plan.otherAttemptId]) {
      if (id !== null && (await abandonAttempt(tx, scope, id))) count += 1;
    }
    return count;
  });
  if (given > 0) return plan;
  await releasePlan(context, scope, plan);
  return undefined;
}

async function endHoldOfPlan(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  attemptId: string | null,
  kind: 'capture' | 'cancel',
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  if (attemptId === null) throw new Error(`Payment plan ${plan.id} has no hold to ${kind}`);
  const operation = await withTx(context.database, scope, (tx) =>
    kind === 'capture'
      ? requestPageCapture(context, tx, scope, plan, attemptId)
      : insertVoid(tx, scope, {
          attemptId,
          id: newId('intent_operation'),
          at: plan.actingAt,
          leaseMs: context.budgets.leaseMs,
        }),
  );
  await context.failpoint('plan.hold_decided');
  if (operation !== undefined) await finishHold(context, scope, operation, Math.max(deadlineMs - performance.now(), 0));
  return plan;
}

// The health card's hold first, then the other one's; undefined if another process is at it.
async function captureBoth(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  deadlineMs: number,
): Promise<PaymentPlan | undefined> {
  const operation = await withTx(context.database, scope, (tx) => requestPageCapture(context, tx, scope, plan));
  await context.failpoint('plan.hold_decided');
  if (operation === undefined) {
    await releasePlan(context, scope, plan);
    return undefined;
  }
  await carryOutCapture(context, scope, operation, deadlineMs);
  return plan;
}

function secondCardMessage({ healthCents, otherCents, askedCents }: PaymentPlan, parts: PlanParts): string {
  if (askedCents !== null) {
    return `The HSA or FSA card pays ${dollars(healthCents)} of ${dollars(askedCents)}: it has no more money. Pay the remaining ${dollars(otherCents)} with another card.`;
  }
  return parts.health_card_kind === 'unknown'
    ? 'Say whether this card is an HSA or FSA card, or add a second payment method for the amount that is not eligible.'
    : 'A second payment method is required for the amount that is not eligible.';
}

// One card's hold, or all that is held. Undefined if another process has begun it.
async function requestPageCapture(
  context: Context,
  tx: Tx,
  scope: Scope,
  plan: PaymentPlan,
  attemptId?: string,
): Promise<IntentOperation | undefined> {
  const [session, attempt] = await Promise.all([
    lockSession(tx, scope, plan.sessionId),
    attemptId === undefined ? undefined : findAttempt(tx, scope, attemptId),
  ]);
  if (session === undefined) throw new Error(`Session ${plan.sessionId} not found`);
  const ofCard = attempt === undefined ? {} : { intentId: attempt.paymentIntentId };
  const request = { session, cause: 'page', instruction: allHeld, ...ofCard, at: plan.actingAt } as const;
  const { allocation, standing } = await planCapture(tx, scope, request);
  if (standing.isCapturing) return undefined;
  const { leaseMs } = context.budgets;
  return writeCapture(tx, scope, request, allocation, { id: newId('capture'), leaseMs });
}

async function conclude(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  parts: PlanParts,
  state: PlanState,
  change: (tx: Tx, session: Session) => Promise<Session>,
): Promise<undefined> {
  await withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, plan.sessionId);
    if (session === undefined) throw new Error(`Session ${plan.sessionId} not found`);
    const releaseAt =
      state === 'awaiting_second_card' ? new Date(context.clock.now().getTime() + secondCardWaitMs) : null;
    const [after] = await Promise.all([
      change(tx, session),
      savePlan(tx, scope, { ...plan, state, releaseAt }, 0),
      releasePaymentLocks(tx, scope, plan.id),
    ]);
    // A second card that did not come is no outcome of a payment: a first one that was refused is.
    const isOutcome = plan.otherCents === 0 || plan.otherPaymentMethodId !== null || parts.health_failure_code !== null;
    if (plan.isLate && isOutcome) {
      await appendLateOutcome(tx, scope, after, state === 'failed' ? 'failed' : 'succeeded', plan.actingAt);
    }
    await context.failpoint('plan.before_conclude_commit');
  });
}

/** Releases the lease of a plan that waits: the sweeper goes on with it. */
export async function releasePlan(context: Context, scope: Scope, plan: PaymentPlan): Promise<undefined> {
  await withTx(context.database, scope, (tx) => postponePlan(tx, scope, plan, waits));
}

const messagesOfRelease: Readonly<Record<ReleaseCause, string>> = {
  other_payment_method_required:
    'The second card is, or may be, an HSA or FSA card, which cannot pay what is not eligible. No card was charged. Use another card.',
  payment_method_not_found: 'A card can no longer be used, and no card was charged. Use another card.',
  checkout_session_payment_tries_exceeded:
    'Too many cards were declined for this session, and no card was charged. Create a new session.',
  customer_not_found: 'The customer was deleted, and no card was charged.',
};

// Of a plan of one card.
const messageOfHealthCard =
  'The card is, or may be, an HSA or FSA card, which cannot pay what is not eligible. No card was charged. Use another card.';

function paymentFailed(
  { releaseCause, healthPaymentMethodId }: PaymentPlan,
  parts: PlanParts,
  session: Session,
): NextAction {
  if (releaseCause !== null) {
    const isOfOneCard = releaseCause === 'other_payment_method_required' && healthPaymentMethodId === null;
    return {
      type: 'payment_failed',
      message: isOfOneCard ? messageOfHealthCard : messagesOfRelease[releaseCause],
      ...given({ url: session.details.redirectUrl }),
      errorCode: releaseCause,
    };
  }
  const refusedOther = parts.other_status === 'declined' || parts.other_status === 'failed';
  const errorCode = refusedOther ? parts.other_failure_code : parts.health_failure_code;
  const declineCode = refusedOther ? parts.other_decline_code : parts.health_decline_code;
  if (errorCode === null || errorCode === canceledLate) {
    const message = 'The payment timed out and no card was charged. Pay again.';
    return {
      type: 'payment_failed',
      ...(parts.time_over ? { message } : {}),
      ...given({ url: session.details.redirectUrl }),
    };
  }
  return {
    type: 'payment_failed',
    message: 'The card was declined. Use another card.',
    ...given({ url: session.details.redirectUrl }),
    errorCode,
    ...(declineCode === null ? {} : { declineCode }),
  };
}
