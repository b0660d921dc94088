import type { Scope, Tx } from '@eligo/postgres';
import { cents, newId, sumCents } from '@eligo/values';
import type { Capture } from '../domain/capture.ts';
import { allHeld, amountsOfLines, componentsOfLines } from '../domain/capture-allocation.ts';
import { refusedByProcessor } from '../domain/capture-rules.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findCapture } from '../store/capture-records.ts';
import {
  adoptOperation,
  beginWaitingOperation,
  type CaptureParts,
  dropWaitingOperations,
  loadCaptureLines,
  loadCaptureParts,
  loadHeldCards,
  recordCapturedLines,
  recordCaptureFailed,
  recordCaptureSucceeded,
} from '../store/captures.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { findCharge } from '../store/charges.ts';
import { markReleased, recordHoldEnd } from '../store/holds.ts';
import { type IntentOperation, insertVoid } from '../store/intent-operations.ts';
import { recordHeldCapture, recordRelease } from '../store/payment-intents.ts';
import { endHeldPlan, wakePlan } from '../store/payment-plans.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { saveSession } from '../store/sessions.ts';
import { cancelAndRefund } from './cancel-and-refund.ts';
import { answerCapture } from './capture-answer.ts';
import { finishPaidSession } from './pay-session.ts';
import { appendChargeEvent, appendIntentEvent } from './payment-events.ts';
import { planCapture } from './request-capture.ts';

/** A settled operation of a capture, with its session, of which the caller holds the row. */
export interface CapturePart {
  readonly session: Session;
  readonly attempt: ChargeAttempt;
  readonly operation: IntentOperation;
}

/** Records that an operation captured its amount: ledger, charge, intent, lines and session; and, after the last one of the capture, how the capture ended. */
export async function settleCapturedPart(tx: Tx, scope: Scope, part: CapturePart, isStillHeld: boolean): Promise<void> {
  const { operation, session } = part;
  const { actingAt: at, amountCents, paymentIntentId } = operation;
  const capture = await captureOf(tx, scope, part);
  const intent = await recordHeldCapture(tx, scope, paymentIntentId, {
    ...{ amountCents, isStillHeld, captureId: capture.id, at },
    entryId: newId('ledger_transaction'),
  });
  await Promise.all([recordCapturedLines(tx, scope, capture, intent.id), tellCapture(tx, scope, intent, at)]);
  const after = { ...session, amountReceivedCents: cents(session.amountReceivedCents + amountCents) };
  await conclude(tx, scope, part, capture, after);
}

/**
 * Ends a capture that asks the processor for nothing: a final one that takes nothing more. What is still held is voided by the sweeper. Answers the session
 * as it then is.
 */
export async function settleRelease(
  tx: Tx,
  scope: Scope,
  session: Session,
  captureId: string,
  at: Date,
): Promise<Session> {
  const capture = await findCapture(tx, scope, captureId);
  if (capture === undefined) throw new Error(`Capture ${captureId} not found`);
  return succeed(tx, scope, session, capture, session, at);
}

/** Records that the hold of an operation is gone: what was captured of it before stays. */
export async function settleLostPart(tx: Tx, scope: Scope, part: CapturePart): Promise<void> {
  const { operation, session } = part;
  await recordHoldEnd(tx, scope, operation.paymentIntentId, 'lost');
  await recordHoldGone(tx, scope, part);
  // Only the page's plan began captures without a record, and it detects the loss by itself.
  if (operation.captureId === null) return wakePlan(tx, scope, session.id);
  await conclude(tx, scope, part, await captureOf(tx, scope, part), session);
}

/** Ends a capture that the processor refused, as what its other card gave. The hold of the refused operation stays, for another capture. */
export async function settleRefusedPart(tx: Tx, scope: Scope, part: CapturePart): Promise<void> {
  const { session, operation } = part;
  const capture = await captureOf(tx, scope, part);
  const { capturedIntentIds } = await loadCaptureParts(tx, scope, capture.id);
  await dropWaitingOperations(tx, scope, capture.id);
  if (capturedIntentIds.length > 0) {
    const smaller = await asCaptured(tx, scope, capture, capturedIntentIds);
    await succeed(tx, scope, session, smaller, session, operation.actingAt);
    return;
  }
  await recordCaptureFailed(tx, scope, capture.id, refusedByProcessor);
  await answerCapture(tx, scope, { ...capture, status: 'failed', failureCode: refusedByProcessor }, session);
}

/** Records that nothing of a hold is left, by a void or a loss: the intent is canceled, or stands for what was captured of it. */
export async function recordHoldGone(
  tx: Tx,
  scope: Scope,
  {
    operation,
    attempt,
  }: Pick<CapturePart, 'attempt'> & { operation: Pick<IntentOperation, 'paymentIntentId' | 'actingAt'> },
): Promise<void> {
  const intent = await recordRelease(tx, scope, operation.paymentIntentId);
  if (intent.status === 'succeeded') {
    return appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, operation.actingAt);
  }
  await Promise.all([
    markReleased(tx, scope, attempt.id),
    attempt.leg === 'health' && attempt.purpose === 'session'
      ? recordEligibilityCharge(tx, scope, attempt.subjectId, null)
      : undefined,
    appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, operation.actingAt),
  ]);
}

async function captureOf(tx: Tx, scope: Scope, { operation, session }: CapturePart): Promise<Capture> {
  const id = operation.captureId ?? (await adopt(tx, scope, operation, session));
  const capture = await findCapture(tx, scope, id);
  if (capture === undefined) throw new Error(`Capture ${id} not found`);
  return capture;
}

// The release before this one captured a hold whole, without a record.
async function adopt(tx: Tx, scope: Scope, operation: IntentOperation, session: Session): Promise<string> {
  const { paymentIntentId: intentId, actingAt: at } = operation;
  const request = { session, cause: 'page', instruction: allHeld, intentId, at } as const;
  const { allocation } = await planCapture(tx, scope, request);
  const id = newId('capture');
  await adoptOperation(
    tx,
    scope,
    { id, sessionId: session.id, cause: 'page', allocation, metadata: {}, at },
    operation.id,
  );
  return id;
}

async function tellCapture(tx: Tx, scope: Scope, intent: PaymentIntent, at: Date): Promise<void> {
  const charge = intent.latestChargeId === null ? undefined : await findCharge(tx, scope, intent.latestChargeId);
  await Promise.all([
    charge && appendChargeEvent(tx, scope, 'charge.captured', charge, at),
    intent.status === 'succeeded' ? appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at) : undefined,
  ]);
}

// After the last operation of a capture: the session is complete once nothing of it is held. A hold that was lost cancels a session of which nothing
// was captured before (decisions 14.29); what was captured before is kept, because the shop has delivered for it.
async function conclude(tx: Tx, scope: Scope, part: CapturePart, capture: Capture, after: Session): Promise<void> {
  const parts = await loadCaptureParts(tx, scope, capture.id);
  const isLost = parts.lostCode !== null && after.captureIds.length === 0;
  if (!isLost && (parts.isPending || parts.waitingId !== undefined)) {
    if (!parts.isPending && parts.waitingId !== undefined) await beginWaitingOperation(tx, scope, parts.waitingId);
    if (after !== part.session) await saveSession(tx, scope, part.session, after);
    return;
  }
  if (isLost) await dropWaitingOperations(tx, scope, capture.id);
  if (parts.lostCode === null) await succeed(tx, scope, part.session, capture, after, part.operation.actingAt);
  else if (isLost) await fail(tx, scope, part, capture, after, parts.lostCode);
  else await keep(tx, scope, part, capture, after, parts);
}

async function succeed(
  tx: Tx,
  scope: Scope,
  before: Session,
  capture: Capture,
  received: Session,
  at: Date,
): Promise<Session> {
  await recordCaptureSucceeded(tx, scope, capture);
  const after = { ...received, captureIds: [...received.captureIds, capture.id] };
  if (capture.cause === 'page') {
    const saved = await finishPaidSession(tx, scope, { session: before, after, intent: undefined, at });
    await wakePlan(tx, scope, before.id);
    return saved;
  }
  const isOver = capture.isFinal || (await loadHeldCards(tx, scope, before.id)).length === 0;
  const saved = await finish(tx, scope, before, after, isOver, at);
  await answerCapture(tx, scope, { ...capture, status: 'succeeded' }, saved);
  return saved;
}

async function finish(
  tx: Tx,
  scope: Scope,
  session: Session,
  after: Session,
  isOver: boolean,
  at: Date,
): Promise<Session> {
  if (isOver) await Promise.all([voidHeldCards(tx, scope, session.id, at), endHeldPlan(tx, scope, session.id, 'done')]);
  const ended: Session = isOver ? { ...after, status: 'complete', completedAt: at, nextAction: null } : after;
  return finishPaidSession(tx, scope, { session, after: ended, intent: undefined, at });
}

async function fail(
  tx: Tx,
  scope: Scope,
  { session, operation }: CapturePart,
  capture: Capture,
  after: Session,
  code: string,
): Promise<void> {
  const { actingAt: at } = operation;
  await recordCaptureFailed(tx, scope, capture.id, code);
  const saved = after === session ? session : await saveSession(tx, scope, session, after);
  if (capture.cause === 'page') return wakePlan(tx, scope, session.id);
  await Promise.all([voidHeldCards(tx, scope, session.id, at), endHeldPlan(tx, scope, session.id, 'failed')]);
  const ended = await cancelAndRefund(tx, scope, saved, at);
  await answerCapture(tx, scope, { ...capture, status: 'failed', failureCode: code }, ended);
}

// The capture is what the other card gave, or nothing.
async function keep(
  tx: Tx,
  scope: Scope,
  part: CapturePart,
  capture: Capture,
  after: Session,
  { capturedIntentIds, lostCode }: CaptureParts,
): Promise<void> {
  const { session, operation } = part;
  const { actingAt: at } = operation;
  if (capturedIntentIds.length > 0) {
    await succeed(tx, scope, session, await asCaptured(tx, scope, capture, capturedIntentIds), after, at);
    return;
  }
  const failureCode = lostCode ?? 'lost';
  await recordCaptureFailed(tx, scope, capture.id, failureCode);
  const isOver = (await loadHeldCards(tx, scope, session.id)).length === 0;
  const saved = await finish(tx, scope, session, after, isOver, at);
  await answerCapture(tx, scope, { ...capture, status: 'failed', failureCode }, saved);
}

async function asCaptured(
  tx: Tx,
  scope: Scope,
  capture: Capture,
  capturedIntentIds: readonly string[],
): Promise<Capture> {
  const [all, lines] = await Promise.all([
    loadCaptureLines(tx, scope, capture.id),
    loadSessionLines(tx, scope, capture.sessionId),
  ]);
  const taken = all.filter((line) => capturedIntentIds.includes(line.paymentIntentId));
  const amounts = amountsOfLines(taken);
  const before = lines.map((line) => ({
    ...line,
    amountCapturedCents: cents(line.amountCapturedCents - (amounts.get(line.id) ?? 0)),
  }));
  const { tax, shipping, discount } = componentsOfLines(before, taken);
  return {
    ...capture,
    amountCents: sumCents(taken.map((line) => line.amount)),
    taxCents: cents(Math.min(tax, capture.taxCents)),
    shippingCents: cents(Math.min(shipping, capture.shippingCents)),
    discountCents: cents(Math.min(discount, capture.discountCents)),
  };
}

/** Has the sweeper void what a session still holds. */
export async function voidHeldCards(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<void> {
  const held = await loadHeldCards(tx, scope, sessionId);
  if (held.length === 0) return;
  const attempts = await liveAttempts(tx, scope, 'session', sessionId);
  for (const { intent } of held) {
    const attempt = attempts.find(({ paymentIntentId }) => paymentIntentId === intent.id);
    if (attempt === undefined) throw new Error(`Payment intent ${intent.id} is held by no attempt`);
    await insertVoid(tx, scope, { attemptId: attempt.id, id: newId('intent_operation'), at, leaseMs: 0 });
  }
}
