import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ProcessorPort } from '@eligo/processor';
import type { Charging } from '../charging.ts';
import { nextCheckDelayMs, whileDownMs } from '../domain/charge-attempt.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import { type IntentOperation, postponeOperation, settleOperation } from '../store/intent-operations.ts';
import { wakePlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { askHold, type HoldFate } from './ask-hold.ts';
import { recordHoldGone, settleCapturedPart, settleLostPart } from './settle-capture.ts';

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
  const fate = await askHold(processor, operation, remaining);
  await charging.failpoint('hold.processor_answered');
  if (fate.kind === 'not_now') {
    await postpone(charging, scope, operation, { delayMs: fate.retryAfterMs, asked: false });
    return false;
  }
  if (fate.kind === 'unknown') {
    const { nextKey } = fate;
    await postpone(charging, scope, operation, { delayMs: nextCheckDelayMs(operation.checks), asked: true, nextKey });
    if (fate.refusal !== undefined)
      report(charging, operation, fate.refusal, 'Processor rejected a hold operation; will retry');
    return false;
  }
  if (fate.kind === 'lost')
    report(charging, operation, fate.code, 'Capture failed: the hold expired or was canceled at the processor');
  await withTx(charging.database, scope, async (tx) => {
    await record(tx, scope, operation, fate);
    await charging.failpoint('hold.before_record_commit');
  });
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

async function postpone(
  charging: Charging,
  scope: Scope,
  operation: IntentOperation,
  until: { delayMs: number; asked: boolean; nextKey?: boolean },
): Promise<void> {
  await withTx(charging.database, scope, (tx) => postponeOperation(tx, scope, operation, until));
}

async function record(
  tx: Tx,
  scope: Scope,
  operation: IntentOperation,
  fate: Extract<HoldFate, { kind: 'done' | 'lost' }>,
) {
  const attempt = await findAttempt(tx, scope, operation.attemptId);
  if (attempt === undefined) throw new Error(`Charge attempt ${operation.attemptId} not found`);
  const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
  const status = fate.kind === 'done' ? 'done' : 'failed';
  if (!(await settleOperation(tx, scope, operation.id, status, fate.kind === 'lost' ? fate.code : null))) return;
  if (operation.kind === 'cancel') {
    await recordHoldGone(tx, scope, { operation, attempt });
    if (session !== undefined) await wakePlan(tx, scope, session.id);
    return;
  }
  if (session === undefined) throw new Error(`Operation ${operation.id} captures a hold that no session has`);
  const part = { session, attempt, operation };
  if (fate.kind === 'done') await settleCapturedPart(tx, scope, part, fate.isStillHeld);
  else await settleLostPart(tx, scope, part);
}

// For an operator: only this line says why a hold was lost.
function report(charging: Charging, operation: IntentOperation, code: string, message: string): void {
  const { id: operationId, paymentIntentId, kind } = operation;
  charging.logger.error({ operationId, paymentIntentId, kind, code }, message);
}
