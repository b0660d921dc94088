import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { IntentOutcome, NotNow, ProcessorPort } from '@eligo/processor';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { type ChargeAttempt, nextCheckDelayMs, whileDownMs } from '../domain/charge-attempt.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import type { Session } from '../domain/session.ts';
import { findAttempt, markReleased } from '../store/charge-attempts.ts';
import { findCharge } from '../store/charges.ts';
import { type IntentOperation, postponeOperation, settleOperation } from '../store/intent-operations.ts';
import { recordHeldCapture, recordRelease } from '../store/payment-intents.ts';
import { releaseHeldPlan, wakePlan } from '../store/payment-plans.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { cancelAndRefund } from './cancel-and-refund.ts';
import { finishPaidSession, receiveForSession } from './pay-session.ts';
import { appendChargeEvent, appendIntentEvent } from './payment-events.ts';

/**
 * Captures or voids a hold at the processor and records it. A hold that is lost before its capture is recorded as voided, and what
 * the session received from the other card is refunded. Returns true when the operation is settled; false while its outcome is unknown, which the sweeper resolves. The
 * caller holds the operation's lease, and no transaction.
 */
export async function finishHold(
  charging: Charging,
  scope: Scope,
  operation: IntentOperation,
  timeoutMs: number,
): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const processor = await processorOf(charging, scope, operation);
  if (processor.isDown() || remaining() === 0) {
    await postpone(charging, scope, operation, { delayMs: whileDownMs, asked: false });
    return false;
  }
  const fate = await (operation.kind === 'capture' ? capture : voidHold)(processor, operation, remaining);
  await charging.failpoint('hold.processor_answered');
  if (fate.kind === 'not_now') {
    await postpone(charging, scope, operation, { delayMs: fate.retryAfterMs, asked: false });
    return false;
  }
  if (fate.kind === 'unknown') {
    await postpone(charging, scope, operation, { delayMs: nextCheckDelayMs(operation.checks), asked: true });
    if (fate.refusal !== undefined)
      report(charging, operation, fate.refusal, 'Processor rejected a hold operation; will retry');
    return false;
  }
  if (fate.kind === 'lost')
    report(charging, operation, fate.code, 'Capture failed: the hold expired or was canceled at the processor');
  await withTx(charging.database, scope, (tx) => record(tx, scope, operation, fate));
  await charging.failpoint('hold.recorded');
  return true;
}

// Throws where no processor serves this mode, with the operation postponed: it is checked again with increasing backoff.
async function processorOf(charging: Charging, scope: Scope, operation: IntentOperation): Promise<ProcessorPort> {
  try {
    return charging.processors.of(scope);
  } catch (error) {
    await postpone(charging, scope, operation, { delayMs: nextCheckDelayMs(operation.checks), asked: true });
    throw error;
  }
}

type Fate =
  | { readonly kind: 'done' }
  /** Certain: the intent is canceled at the processor, and no capture that is still on its way can take it. */
  | { readonly kind: 'lost'; readonly code: string }
  | NotNow
  | { readonly kind: 'unknown'; readonly refusal: string | undefined };

type Asking = (processor: ProcessorPort, operation: IntentOperation, remaining: () => number) => Promise<Fate>;

const capture: Asking = async (processor, operation, remaining) => {
  const { processorIntentId: intentId, amountCents } = operation;
  const key = `${operation.id}:${operation.checks}`;
  const answer = await processor.captureIntent(
    intentId,
    { amountCents, finalCapture: true },
    { idempotencyKey: key, timeoutMs: remaining() },
  );
  const told = fateOfCapture(operation, answer);
  if (told !== undefined) return told;
  // A lost answer, or a refusal because of what was done before: the intent itself says which.
  const known = fateOfCapture(operation, await processor.retrieveIntent(intentId, { timeoutMs: remaining() }));
  if (known !== undefined) return known;
  const refusal = answer.kind === 'rejected' || answer.kind === 'declined' ? answer.code : undefined;
  const isFinal = answer.kind === 'declined' || refusal === 'charge_expired_for_capture';
  if (!isFinal || refusal === undefined) return { kind: 'unknown', refusal };
  // It is only certain once the intent is canceled: an earlier capture may still be on its way.
  const canceled = await processor.cancelIntent(intentId, { idempotencyKey: `${key}:void`, timeoutMs: remaining() });
  const settled = fateOfCapture(operation, canceled);
  return settled?.kind === 'lost' ? { kind: 'lost', code: refusal } : (settled ?? { kind: 'unknown', refusal });
};

function fateOfCapture(operation: IntentOperation, answer: IntentOutcome): Fate | undefined {
  if (answer.kind === 'canceled') return { kind: 'lost', code: 'canceled' };
  if (answer.kind === 'not_now') return answer;
  if (answer.kind !== 'succeeded') return undefined;
  // Another amount was captured by somebody at the processor: it stays unsettled, loudly, until a person has looked.
  return answer.amountReceivedCents === operation.amountCents
    ? { kind: 'done' }
    : { kind: 'unknown', refusal: 'another_amount_captured' };
}

const voidHold: Asking = async (processor, operation, remaining) => {
  const { processorIntentId: intentId } = operation;
  const key = `${operation.id}:${operation.checks}`;
  const answer = await processor.cancelIntent(intentId, { idempotencyKey: key, timeoutMs: remaining() });
  if (answer.kind === 'canceled') return { kind: 'done' };
  if (answer.kind === 'not_now') return answer;
  const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
  if (known.kind === 'canceled') return { kind: 'done' };
  if (known.kind === 'not_now') return known;
  // Captured by somebody at the processor: a person has to look.
  const refusal = answer.kind === 'rejected' ? answer.code : undefined;
  return { kind: 'unknown', refusal: known.kind === 'succeeded' ? 'captured_elsewhere' : refusal };
};

async function postpone(
  charging: Charging,
  scope: Scope,
  operation: IntentOperation,
  until: { delayMs: number; asked: boolean },
): Promise<void> {
  await withTx(charging.database, scope, (tx) => postponeOperation(tx, scope, operation, until));
}

async function record(
  tx: Tx,
  scope: Scope,
  operation: IntentOperation,
  fate: Exclude<Fate, { kind: 'not_now' | 'unknown' }>,
) {
  const { actingAt: at, attemptId } = operation;
  const attempt = await findAttempt(tx, scope, attemptId);
  if (attempt === undefined) throw new Error(`Charge attempt ${attemptId} not found`);
  const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
  const status = fate.kind === 'done' ? 'done' : 'failed';
  if (!(await settleOperation(tx, scope, operation.id, status, fate.kind === 'lost' ? fate.code : null))) return;
  if (fate.kind === 'done' && operation.kind === 'capture') {
    const intent = await recordHeldCapture(tx, scope, operation.paymentIntentId, newId('ledger_transaction'), at);
    await tellCapture(tx, scope, intent, at);
    if (session === undefined) return;
    const received = receiveForSession(session, intent, false);
    // A plan completes its session by itself; a confirm has only one hold.
    const after: Session =
      attempt.driver === 'confirm' ? { ...received, status: 'complete', completedAt: at, nextAction: null } : received;
    await finishPaidSession(tx, scope, { session, after, intent, at });
    await wakePlan(tx, scope, session.id);
    return;
  }
  const intent = await recordRelease(tx, scope, operation.paymentIntentId);
  await Promise.all([
    markReleased(tx, scope, attemptId),
    attempt.leg === 'health' && session ? recordEligibilityCharge(tx, scope, session.id, null) : undefined,
    appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, at),
  ]);
  if (session === undefined) return;
  await wakePlan(tx, scope, session.id);
  if (fate.kind === 'lost') await followLoss(tx, scope, attempt, session, at);
}

async function tellCapture(tx: Tx, scope: Scope, intent: PaymentIntent, at: Date): Promise<void> {
  const charge = intent.latestChargeId === null ? undefined : await findCharge(tx, scope, intent.latestChargeId);
  await Promise.all([
    charge && appendChargeEvent(tx, scope, 'charge.captured', charge, at),
    appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at),
  ]);
}

// A running plan detects the loss by itself; a plan that waits for a capture voids its other hold. A confirm has only one hold.
async function followLoss(tx: Tx, scope: Scope, attempt: ChargeAttempt, session: Session, at: Date): Promise<void> {
  if (await releaseHeldPlan(tx, scope, session.id)) return;
  if (attempt.driver === 'confirm') await cancelAndRefund(tx, scope, session, at);
}

// For an operator: only this line says why a hold was lost.
function report(charging: Charging, operation: IntentOperation, code: string, message: string): void {
  const { id: operationId, paymentIntentId, kind } = operation;
  charging.logger.error({ operationId, paymentIntentId, kind, code }, message);
}
