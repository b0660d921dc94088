import { type Expecting, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { nextCheckDelayMs, whileDownMs, whileNotConfiguredMs } from '../domain/charge-attempt.ts';
import { findAttempt } from '../store/charge-attempts.ts';
import { type IntentOperation, postponeOperation, settleOperation } from '../store/intent-operations.ts';
import { wakePlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { carryOutHold, type HoldFate } from './carry-out-hold.ts';
import { recordHoldGone, settleCapturedPart, settleLostPart, settleRefusedPart } from './settle-capture.ts';

/**
 * Captures or voids a hold at the processor and records it. A hold that is lost before its capture is recorded as voided, and what
 * the session received from the other card is refunded. Returns true when the operation is settled; false while its outcome is unknown, which the sweeper resolves. The
 * caller holds the operation's lease, and no transaction. `own` is what a request's own claim has read, and how it settles a hold of which nothing is left, together
 * with others; where that answers false, this records from the rows.
 */
export async function finishHold(
  context: Context,
  scope: Scope,
  operation: IntentOperation,
  timeoutMs: number,
  own?: OwnHold,
): Promise<boolean> {
  own?.settlements.expect(scope, operation.id);
  try {
    return await finish(context, scope, operation, timeoutMs, own);
  } finally {
    own?.settlements.forget(scope, operation.id);
  }
}

interface OwnHold {
  readonly processorAccount: ProcessorAccount | null;
  readonly settlements: Expecting;
  settle(): Promise<boolean>;
}

async function finish(
  context: Context,
  scope: Scope,
  operation: IntentOperation,
  timeoutMs: number,
  own: OwnHold | undefined,
): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const processorAccount = own === undefined ? await accountOf(context, scope, operation) : own.processorAccount;
  const processor = context.processors.findAt(scope, processorAccount);
  if (processor === undefined) {
    await postpone(context, scope, operation, { delayMs: whileNotConfiguredMs, asked: false });
    return false;
  }
  if (processor.isDown() || remaining() === 0) {
    await postpone(context, scope, operation, { delayMs: whileDownMs, asked: false });
    return false;
  }
  const fate = await carryOutHold(processor, operation, remaining);
  await context.failpoint('hold.processor_answered');
  if (fate.kind === 'not_now') {
    await postpone(context, scope, operation, { delayMs: fate.retryAfterMs, asked: false });
    return false;
  }
  if (fate.kind === 'unknown') {
    const { nextKey } = fate;
    await postpone(context, scope, operation, { delayMs: nextCheckDelayMs(operation.checks), asked: true, nextKey });
    if (fate.refusal !== undefined)
      report(context, operation, fate.refusal, 'Processor rejected a hold operation; will retry');
    return false;
  }
  if (fate.kind === 'lost')
    report(context, operation, fate.code, 'Capture failed: the hold expired or was canceled at the processor');
  if (fate.kind === 'refused')
    report(context, operation, fate.code, 'Capture failed: the processor refused a partial capture; the hold stays');
  const isSettled = fate.kind === 'done' && !fate.isStillHeld && (await own?.settle()) === true;
  if (!isSettled) {
    await withTx(context.database, scope, async (tx) => {
      await record(tx, scope, operation, fate);
      await context.failpoint('hold.before_record_commit');
    });
  }
  await context.failpoint('hold.recorded');
  return true;
}

async function accountOf(
  { database }: Context,
  scope: Scope,
  { attemptId }: IntentOperation,
): Promise<ProcessorAccount | null> {
  const attempt = await findAttempt(database, scope, attemptId);
  if (attempt === undefined) throw new Error(`Charge attempt ${attemptId} not found`);
  return attempt.processorAccount;
}

async function postpone(
  context: Context,
  scope: Scope,
  operation: IntentOperation,
  until: { delayMs: number; asked: boolean; nextKey?: boolean },
): Promise<void> {
  await withTx(context.database, scope, (tx) => postponeOperation(tx, scope, operation, until));
}

async function record(
  tx: Tx,
  scope: Scope,
  operation: IntentOperation,
  fate: Extract<HoldFate, { kind: 'done' | 'lost' | 'refused' }>,
) {
  const attempt = await findAttempt(tx, scope, operation.attemptId);
  if (attempt === undefined) throw new Error(`Charge attempt ${operation.attemptId} not found`);
  const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
  const status = fate.kind === 'done' ? 'done' : 'failed';
  if (!(await settleOperation(tx, scope, operation.id, status, fate.kind === 'done' ? null : fate.code))) return;
  if (operation.kind === 'cancel') {
    await recordHoldGone(tx, scope, { operation, attempt });
    if (session !== undefined) await wakePlan(tx, scope, session.id);
    return;
  }
  if (session === undefined) throw new Error(`Operation ${operation.id} captures a hold that no session has`);
  const part = { session, attempt, operation };
  if (fate.kind === 'done') await settleCapturedPart(tx, scope, part, fate.isStillHeld);
  else if (fate.kind === 'lost') await settleLostPart(tx, scope, part);
  else await settleRefusedPart(tx, scope, part);
}

// For an operator: only this line says why a hold was lost.
function report(context: Context, operation: IntentOperation, code: string, message: string): void {
  const { id: operationId, paymentIntentId, kind } = operation;
  context.logger.error({ operationId, paymentIntentId, kind, code }, message);
}
