import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type ChargeAttempt, type Leg, noHealthcare } from '../domain/charge-attempt.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { keepsCard } from '../domain/payment-method.ts';
import type { ReleaseCause } from '../domain/payment-plan.ts';
import type { Session } from '../domain/session.ts';
import { declineSourceOf, isChargedByRequest, refusalByDeclines } from '../domain/session-declines.ts';
import { acceptPart } from '../store/approved-parts.ts';
import { claimAttempt, findAttempt, liveAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { recordKeptCard } from '../store/hold-renewals.ts';
import { type PaymentPlan, savePlan } from '../store/payment-plans.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { attemptAsCreated, beginAttempt, confirmTimeMs, healthcareOf } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { customerExists } from './require-customer.ts';

/** The outcome of charging one card of a plan: continue the plan, check again later, or release what it holds. */
export type LegResult =
  | { readonly kind: 'settled' | 'wait'; readonly plan: PaymentPlan }
  /** The cause is null where the session itself has ended, which its status tells. */
  | Release;

interface Release {
  readonly kind: 'release';
  readonly cause: ReleaseCause | null;
}

/**
 * Charges or authorizes one card of a plan. An attempt that was begun for it and never sent is gone on with, so that an outage makes no new
 * one at each look. The caller holds the plan's lease, and no transaction.
 */
export async function chargeLeg(
  context: Context,
  scope: Scope,
  plan: PaymentPlan,
  leg: Leg,
  deadlineMs: number,
): Promise<LegResult> {
  const begun = await withTx(context.database, scope, (tx) => begin(context, tx, scope, plan, leg));
  if (begun === 'wait') return { kind: 'wait', plan };
  if ('kind' in begun) return begun;
  await context.failpoint('plan.attempt_begun');
  const settled = await carryOutAttempt(context, scope, begun.attempt, deadlineMs);
  return { kind: settled === undefined ? 'wait' : 'settled', plan: begun.plan };
}

type Begun = { readonly attempt: ChargeAttempt; readonly plan: PaymentPlan };

async function begin(
  context: Context,
  tx: Tx,
  scope: Scope,
  plan: PaymentPlan,
  leg: Leg,
): Promise<Begun | 'wait' | Release> {
  const { leaseMs } = context.budgets;
  const session = await lockSession(tx, scope, plan.sessionId);
  if (session === undefined) return release(null);
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  if (refusalByStatus(session, at) !== undefined) return release(null);
  if (!(await customerExists(tx, scope, session))) return release('customer_not_found');
  if (await isPaidOtherwise(tx, scope, plan)) return 'wait';
  const earlierId = leg === 'health' ? plan.healthAttemptId : plan.otherAttemptId;
  const earlier = earlierId === null ? undefined : await findAttempt(tx, scope, earlierId);
  if (earlier?.status === 'created') {
    const attempt = await claimAttempt(tx, scope, earlier.id, leaseMs);
    return attempt === undefined ? 'wait' : { attempt, plan: await savePlan(tx, scope, plan, leaseMs) };
  }
  // Other payments can use up the declines of the session in the meantime. The database refuses the attempt as well.
  if (refusalByDeclines(session, declineSourceOf(session, plan.eligibleOnly)) !== undefined) {
    return release('checkout_session_payment_tries_exceeded');
  }
  const cardId = leg === 'health' ? plan.healthPaymentMethodId : plan.otherPaymentMethodId;
  const [card] = cardId === null ? [] : await findChargeableCards(tx, scope, [cardId]);
  if (card === undefined) return release('payment_method_not_found');
  // What was said of the card since: ineligible items are never charged to what may be a health card.
  if (leg === 'other' && card.hsaFsa !== false) return release('other_payment_method_required');
  const confirmMs = Math.min(plan.confirmLeftMs, confirmTimeMs(context.budgets, session, at));
  // Where the card was when the shopper gave it: a plan goes on there, whichever account new money goes to by now.
  const processorAccount = card.processorAccount ?? context.processors.of(scope).account;
  const attempt: NewAttempt = { ...attemptOf(plan, leg, session, card), processorAccount, leaseMs, confirmMs };
  await beginAttempt(tx, scope, attempt, {
    sessionId: session.id,
    invoiceId: session.invoiceId,
    subscriptionId: session.subscriptionId,
  });
  if (session.letterRequired && keepsCard(attempt)) await recordKeptCard(tx, scope, attempt.paymentIntentId);
  const acceptsPart = leg === 'health' && plan.acceptsPart;
  if (acceptsPart) await acceptPart(tx, scope, attempt.id);
  const linked = leg === 'health' ? { healthAttemptId: attempt.id } : { otherAttemptId: attempt.id };
  const begun = { ...attemptAsCreated(attempt), acceptsPart };
  return { attempt: begun, plan: await savePlan(tx, scope, { ...plan, ...linked }, leaseMs) };
}

const release = (cause: ReleaseCause | null): Release => ({ kind: 'release', cause });

/** The attempt that a plan begins for one card. */
export function attemptOf(
  plan: PaymentPlan,
  leg: Leg,
  session: Session,
  card: ChargeableCard,
): Omit<NewAttempt, 'leaseMs' | 'confirmMs' | 'processorAccount'> {
  // On the page the shopper is there to authenticate.
  const offSession = isChargedByRequest(session, plan.eligibleOnly);
  return {
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
    offSession,
    threeDSecure: offSession ? null : (session.details.requestThreeDSecure ?? null),
    captureMethod: isHold(plan, leg) ? 'manual' : 'automatic',
    amountCents: leg === 'health' ? plan.healthCents : plan.otherCents,
    healthcare: leg === 'health' ? healthcareOf(session) : noHealthcare,
    // On the health leg by its source or its slot, or because nothing is known of it.
    cardKind: leg === 'other' ? 'other' : card.hsaFsa === null ? 'unknown' : 'health',
    expand: [],
    actingAt: plan.actingAt,
    operationId: null,
  };
}

// The health card before another one, and where it may be approved for a part; the other card only once it pays for what the health card lacks.
function isHold(plan: PaymentPlan, leg: Leg): boolean {
  if (plan.holdsOnly) return true;
  return leg === 'health' ? plan.otherCents > 0 || plan.acceptsPart : plan.askedCents !== null;
}

// A confirm may have set out since the plan was made. It charges the health leg, and this plan perhaps the other one for the whole session: no
// index keeps the two apart, only this look under the session's lock, which the confirm takes too.
async function isPaidOtherwise(tx: Tx, scope: Scope, plan: PaymentPlan): Promise<boolean> {
  const live = await liveAttempts(tx, scope, 'session', plan.sessionId);
  return live.some(({ id }) => id !== plan.healthAttemptId && id !== plan.otherAttemptId);
}
