import { Failure } from '@eligo/failures';
import {
  claimOrThrow,
  finishKey,
  type KeyUse,
  keyInUse,
  linkAttempt,
  releaseKey,
  releaseKeyOfAttempt,
  type Scope,
  type StoredAnswer,
  type Tx,
  withTx,
} from '@eligo/postgres';
import type { ConfirmSessionResponse } from '@eligo/proto/checkout/v1/checkout';
import { cents, isSameAccount, minimumChargeCents, newId, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { holdReleased, refusalByStatus, refusalToConfirm } from '../domain/confirm-rules.ts';
import { withOtherCard } from '../domain/payment-plan.ts';
import { isChargedWhole, type Session } from '../domain/session.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import { findIntent } from '../store/payment-intents.ts';
import { arePaymentLocksHeld, takePaymentLocks } from '../store/payment-locks.ts';
import {
  claimPlan,
  insertPlan,
  lockLivePlan,
  lockPlan,
  type PaymentPlan,
  savePlan,
  wasWholeHeld,
} from '../store/payment-plans.ts';
import { type ChargeableCard, type ChargeFacts, loadChargeFacts } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { confirmTimeMs } from './begin-attempt.ts';
import { carryOutPlan } from './carry-out-plan.ts';
import { type ConfirmRequest, contended } from './charge-claim.ts';
import { answerOfAttempt, confirmAnswer, refusalAnswer, replayAnswer } from './confirm-answer.ts';
import { NotItsTurn, type PaymentTurn } from './payment-turn.ts';

/** A confirm of an account that has health cards approved for a part, or one that names a second card. */
export interface ConfirmInParts {
  readonly request: ConfirmRequest;
  readonly use: KeyUse;
  /** Its place in the line of its card. */
  readonly turn: PaymentTurn;
  /** Where new money goes. */
  readonly ofNewMoney: ProcessorAccount;
  /** Whether a health card may be approved for a part. Without it, only a plan that waits for its second card is gone on with. */
  readonly acceptsPart: boolean;
}

/**
 * Confirms a session with a card that may be approved for a part of what is eligible, or with the card that pays the rest of it (decisions 14.237), or the rest of a
 * session that was charged off-session at its creation (decisions 14.70). A payment plan
 * charges them as it does on the page, and the key is linked to it. Undefined, with nothing written, where a plain confirm serves: a refusal, a card that is no
 * health card, nothing to charge.
 */
export async function confirmInParts(
  context: Context,
  scope: Scope,
  confirm: ConfirmInParts,
): Promise<ConfirmSessionResponse | undefined> {
  const { turn } = confirm;
  const claimed = await turn.take(
    () => claimUnlessPlain(context, scope, confirm),
    (wanted) => arePaymentLocksHeld(context.database, scope, wanted),
  );
  if (claimed === undefined) return undefined;
  if (claimed.kind === 'answer') return replayAnswer(claimed.answer, claimed.replayed);
  turn.charge();
  await context.failpoint('confirm.claimed');
  const deadlineMs = Math.min(performance.now() + context.budgets.callMs, turn.deadlineMs);
  const { plan, planId, epoch } = claimed;
  try {
    if (plan !== undefined) await carryOutPlan(context, scope, plan, deadlineMs);
  } catch (error) {
    context.logger.warn({ err: error, recordId: planId }, 'Failed to carry out a payment plan; the sweeper will retry');
  }
  const answer = await answerOf(context, scope, confirm, planId, epoch);
  await context.failpoint('confirm.key_released');
  if (answer === undefined) throw keyInUse();
  return replayAnswer(answer, false);
}

type Claimed =
  | { readonly kind: 'answer'; readonly answer: StoredAnswer; readonly replayed: boolean }
  /** `plan`: under a lease of this request; undefined for one that waits for nothing of it. */
  | { readonly kind: 'plan'; readonly planId: string; readonly plan: PaymentPlan | undefined; readonly epoch: number };

/** Thrown to take the claim of a key back. */
class PlainConfirm extends Error {}

async function claimUnlessPlain(context: Context, scope: Scope, confirm: ConfirmInParts): Promise<Claimed | undefined> {
  try {
    return await withTx(context.database, scope, (tx) => claim(context, tx, scope, confirm), {
      lockTimeoutMs: context.budgets.lockMs,
    });
  } catch (error) {
    if (error instanceof PlainConfirm) return undefined;
    throw error;
  }
}

async function claim(context: Context, tx: Tx, scope: Scope, confirm: ConfirmInParts): Promise<Claimed> {
  const { request, use } = confirm;
  const { leaseMs } = context.budgets;
  const newPlanId = newId('payment_plan');
  // The session first, as whoever settles or gives up a charge takes it before the key.
  const session = await lockSession(tx, scope, request.sessionId);
  if (session === undefined) throw new PlainConfirm();
  const live = await lockLivePlan(tx, scope, session.id);
  // A session that is charged off-session has no page: a confirm names its second card, which pays what the session says.
  const takesConfirms = live?.plan.eligibleOnly === true || session.mode === 'off_session';
  const awaiting = takesConfirms && live?.plan.state === 'awaiting_second_card' ? live.plan : undefined;
  const key = await claimOrThrow(tx, scope, use, leaseMs, awaiting?.id ?? newPlanId);
  await context.failpoint('confirm.key_claimed');
  if (key.outcome === 'finished') return { kind: 'answer', answer: key.answer, replayed: true };
  if (key.attemptId !== undefined) return resume(tx, scope, session, key.attemptId, key.epoch, leaseMs);
  const facts = await loadChargeFacts(tx, scope, session.id, request.paymentMethodId);
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  // Another confirm of it is under way.
  if (awaiting === undefined && live !== undefined && takesConfirms && session.status === 'open') throw contended();
  if (awaiting === undefined && (live !== undefined || facts.hasLiveAttempts)) throw new PlainConfirm();
  const paysRest = awaiting !== undefined && !awaiting.eligibleOnly;
  const wasReleased = awaiting === undefined && isChargedWhole(session) && (await wasWholeHeld(tx, scope, session.id));
  const refusal = refusalToConfirm({ session, facts, live: [], at, features: request.features, paysRest, wasReleased });
  if (refusal !== undefined && (awaiting !== undefined || wasReleased)) {
    const answer = refusalAnswer(refusal);
    await finishKey(tx, scope, use, answer);
    return { kind: 'answer', answer, replayed: false };
  }
  if (awaiting === undefined && !confirm.acceptsPart) throw new PlainConfirm();
  const card = awaiting === undefined ? chargeableCard(confirm, facts, session, refusal) : secondCard(confirm, facts);
  // A health card pays on its own leg alone, and that one is used up.
  if (awaiting !== undefined && card.hsaFsa !== false) throw new Failure('other_payment_method_required');
  if (awaiting === undefined && card.hsaFsa === false) throw new PlainConfirm();
  const plan =
    awaiting === undefined
      ? await beginPlan(context, tx, scope, { id: newPlanId, session, card, at })
      : await goOn(context, tx, scope, { plan: awaiting, session, card, at });
  const wanted = { customerId: facts.customer?.id ?? null, paymentMethodId: card.id };
  const isItsTurn =
    confirm.turn.isNext(wanted) && (await takePaymentLocks(tx, scope, { attemptId: plan.id, ...wanted, leaseMs }));
  // Rolls everything back: nothing is left behind, and the key is free for the retry.
  if (!isItsTurn) throw new NotItsTurn(wanted);
  if (!key.isNew) await linkAttempt(tx, scope, use, plan.id);
  await context.failpoint('confirm.before_claim_commit');
  return { kind: 'plan', planId: plan.id, plan, epoch: key.epoch };
}

// A plain confirm gives the refusals of a session of which no card is held.
function chargeableCard(
  { request, ofNewMoney }: ConfirmInParts,
  { paymentMethod: card }: ChargeFacts,
  { amountEligibleCents }: Session,
  refusal: Failure | undefined,
): ChargeableCard {
  if (refusal !== undefined || card === undefined || request.refusesHealthCards) throw new PlainConfirm();
  if (card.processorAccount !== null && !isSameAccount(card.processorAccount, ofNewMoney)) throw new PlainConfirm();
  if (amountEligibleCents < minimumChargeCents) throw new PlainConfirm();
  return card;
}

// The refusals that are not stored under the key. A plain confirm would say that the health card was charged, and store that.
function secondCard({ request, ofNewMoney }: ConfirmInParts, { paymentMethod: card }: ChargeFacts): ChargeableCard {
  if (card === undefined) throw new Error('A refusal must be given before the second card');
  accountToCharge(card, ofNewMoney);
  if (request.refusesHealthCards) throw new Failure('health_cards_not_enabled');
  return card;
}

// The same key after a crash or a lost answer: goes on with its plan, and a plan that waits for nothing has its answer.
async function resume(
  tx: Tx,
  scope: Scope,
  session: Session,
  planId: string,
  epoch: number,
  leaseMs: number,
): Promise<Claimed> {
  const known = await lockPlan(tx, scope, { id: planId, sessionId: session.id });
  if (known === undefined) throw new PlainConfirm();
  if (known.state !== 'running' && known.state !== 'releasing') return { kind: 'plan', planId, plan: undefined, epoch };
  const plan = await claimPlan(tx, scope, session.id, leaseMs);
  // The sweeper works on it at this moment.
  if (plan === undefined) throw keyInUse();
  return { kind: 'plan', planId, plan, epoch };
}

interface PlannedConfirm {
  readonly session: Session;
  readonly card: ChargeableCard;
  readonly at: Date;
}

async function beginPlan(
  context: Context,
  tx: Tx,
  scope: Scope,
  { id, session, card, at }: PlannedConfirm & { readonly id: string },
): Promise<PaymentPlan> {
  const plan: PaymentPlan = {
    ...{ id, sessionId: session.id, state: 'running', healthCents: session.amountEligibleCents, otherCents: cents(0) },
    ...{ healthPaymentMethodId: card.id, otherPaymentMethodId: null, healthAttemptId: null, otherAttemptId: null },
    // A letter is needed before its lines' money is captured (decisions 13).
    ...{
      holdsOnly: session.letterRequired,
      acceptsPart: true,
      eligibleOnly: true,
      askedCents: null,
      releaseAt: null,
      releaseCause: null,
    },
    ...{ isLate: false, epoch: 1, actingAt: at, confirmLeftMs: confirmTimeMs(context.budgets, session, at) },
  };
  await insertPlan(tx, scope, plan, context.budgets.leaseMs);
  return plan;
}

function goOn(
  context: Context,
  tx: Tx,
  scope: Scope,
  { plan, session, card, at }: PlannedConfirm & { readonly plan: PaymentPlan },
): Promise<PaymentPlan> {
  const next = withOtherCard(plan, card.id, at);
  return savePlan(tx, scope, next, context.budgets.leaseMs, confirmTimeMs(context.budgets, session, at));
}

// Stores the answer under the key once the plan has one; undefined, with the key free for the same request, until then.
async function answerOf(
  context: Context,
  scope: Scope,
  { request, use }: ConfirmInParts,
  planId: string,
  epoch: number,
): Promise<StoredAnswer | undefined> {
  return withTx(context.database, scope, async (tx) => {
    const session = await lockSession(tx, scope, request.sessionId);
    const plan = session && (await lockPlan(tx, scope, { id: planId, sessionId: session.id }));
    if (session === undefined || plan === undefined) throw new Error(`Payment plan ${planId} not found`);
    if (plan.state === 'running' || plan.state === 'releasing') {
      await releaseKey(tx, scope, use, epoch);
      return undefined;
    }
    const attempt = await namedAttempt(tx, scope, session, plan, request);
    const answer =
      plan.state === 'failed'
        ? await refusalOf(context, tx, scope, session, plan, attempt)
        : await sessionAnswer(tx, scope, session, attempt, request.expand);
    // No card was declined, and none was charged: the same key may pay what is eligible anew.
    if (answer === undefined) await releaseKeyOfAttempt(tx, scope, planId);
    else await finishKey(tx, scope, use, answer);
    await context.failpoint('confirm.before_answer_commit');
    return answer;
  });
}

// The attempt of the card that the request names: of a plan for the whole session, a confirm names the second card.
async function namedAttempt(
  tx: Tx,
  scope: Scope,
  session: Session,
  plan: PaymentPlan,
  request: ConfirmRequest,
): Promise<ChargeAttempt | undefined> {
  const named = request.paymentMethodId ?? session.paymentMethodId;
  const isSecond = !plan.eligibleOnly || plan.otherPaymentMethodId === named;
  const attemptId = isSecond ? plan.otherAttemptId : plan.healthAttemptId;
  return attemptId === null ? undefined : findAttempt(tx, scope, attemptId);
}

async function sessionAnswer(
  tx: Tx,
  scope: Scope,
  session: Session,
  attempt: ChargeAttempt | undefined,
  expand: readonly string[],
): Promise<StoredAnswer> {
  const intent = attempt && (await findIntent(tx, scope, attempt.paymentIntentId));
  return confirmAnswer(tx, scope, session, intent, expand);
}

// The decline of the request's own card, or how the session ended meanwhile. Undefined only where the same key may pay anew: a plan for the whole session ends for good.
async function refusalOf(
  context: Context,
  tx: Tx,
  scope: Scope,
  session: Session,
  plan: PaymentPlan,
  attempt: ChargeAttempt | undefined,
): Promise<StoredAnswer | undefined> {
  const declined = attempt && answerOfAttempt(attempt);
  if (declined !== undefined) return declined;
  const ended = refusalByStatus(session, await timeOnClock(tx, scope, context.clock, session.testClockId));
  if (ended !== undefined) return refusalAnswer(ended);
  return plan.eligibleOnly ? undefined : refusalAnswer(holdReleased());
}
