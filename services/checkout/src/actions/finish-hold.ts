import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { nextCheckDelayMs } from '../domain/charge-attempt.ts';
import { findAttempt, markReleased } from '../store/charge-attempts.ts';
import { type IntentOperation, postponeOperation, settleOperation } from '../store/intent-operations.ts';
import { recordHeldCapture, recordRelease } from '../store/payment-intents.ts';
import { recordEligibilityCharge } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { finishPaidSession, receiveForSession } from './pay-session.ts';
import { appendIntentEvent } from './payment-events.ts';

/**
 * Captures a hold or lets it go at the processor and records it. True when it is done; false when nobody knows yet, and the sweeper goes on.
 * The caller holds the operation's lease, and no transaction.
 */
export async function finishHold(
  charging: Charging,
  scope: Scope,
  operation: IntentOperation,
  timeoutMs: number,
): Promise<boolean> {
  const processor = charging.processors.of(scope);
  const call = { idempotencyKey: `${operation.id}:${operation.checks}`, timeoutMs };
  const answer =
    operation.kind === 'capture'
      ? await processor.captureIntent(
          operation.processorIntentId,
          { amountCents: operation.amountCents, finalCapture: true },
          call,
        )
      : await processor.cancelIntent(operation.processorIntentId, call);
  await charging.failpoint('hold.processor_answered');
  const done = isDone(operation, answer.kind) || (await isDoneAlready(charging, scope, operation, timeoutMs));
  if (done) {
    await recordDone(charging, scope, operation);
    return true;
  }
  await withTx(charging.database, scope, (tx) =>
    postponeOperation(tx, scope, operation, nextCheckDelayMs(operation.checks)),
  );
  if (answer.kind === 'rejected') {
    charging.logger.error(
      {
        operationId: operation.id,
        paymentIntentId: operation.paymentIntentId,
        kind: operation.kind,
        code: answer.code,
      },
      'the processor refuses to finish a hold; it is tried again',
    );
  }
  return false;
}

function isDone(operation: IntentOperation, kind: string): boolean {
  return operation.kind === 'capture' ? kind === 'succeeded' : kind === 'canceled';
}

// A lost answer, or a refusal because an earlier send did it: the intent itself says which.
async function isDoneAlready(
  charging: Charging,
  scope: Scope,
  operation: IntentOperation,
  timeoutMs: number,
): Promise<boolean> {
  const known = await charging.processors.of(scope).retrieveIntent(operation.processorIntentId, { timeoutMs });
  return isDone(operation, known.kind);
}

async function recordDone(charging: Charging, scope: Scope, operation: IntentOperation): Promise<void> {
  const { actingAt: at, attemptId } = operation;
  await withTx(charging.database, scope, async (tx) => {
    const attempt = await findAttempt(tx, scope, attemptId);
    if (attempt === undefined) throw new Error(`attempt ${attemptId} is gone`);
    const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    if (!(await settleOperation(tx, scope, operation.id, 'done', null))) return;
    if (operation.kind === 'cancel') {
      const intent = await recordRelease(tx, scope, operation.paymentIntentId);
      await Promise.all([
        markReleased(tx, scope, attemptId),
        attempt.leg === 'health' && session ? recordEligibilityCharge(tx, scope, session.id, null) : undefined,
        appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, at),
      ]);
      return;
    }
    const intent = await recordHeldCapture(tx, scope, operation.paymentIntentId, newId('ledger_transaction'), at);
    await appendIntentEvent(tx, scope, 'payment_intent.succeeded', intent, at);
    if (session !== undefined) {
      await finishPaidSession(tx, scope, { session, after: receiveForSession(session, intent, false), intent, at });
    }
  });
  await charging.failpoint('hold.recorded');
}
