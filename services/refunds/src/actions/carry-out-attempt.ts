import { commitBehind, type Scope, withTx } from '@eligo/postgres';
import type { ProcessorPort, RefundOutcome } from '@eligo/processor';
import type { Context } from '../context.ts';
import { isKeyForgotten, judgeRefusal } from '../domain/judge-outcome.ts';
import { pauseWhileDownMs, pauseWhileNotConfiguredMs } from '../domain/pauses.ts';
import type { Refund, RefundAttempt } from '../domain/refund.ts';
import type { MadeAttempt } from '../store/due-work.ts';
import { claimAttempt, fenceAttempt, findHeldAttempt, postponeLook, postponeSend } from '../store/refund-attempts.ts';
import { replaceAttempt, settleAccepted, settleFailed, settleNotNow, settleUnknown } from './settle-attempt.ts';

/**
 * Carries out one step of an attempt: requests the refund of one card from the processor, under the attempt's own key and with the same parameters each
 * time, or checks its outcome. `epoch` is the claim of the process that created the attempt; without one this claims the attempt first.
 */
export async function carryOutAttempt(
  context: Context,
  scope: Scope,
  attemptId: string,
  epoch?: number,
): Promise<void> {
  const attempt =
    epoch === undefined
      ? await claim(context, scope, attemptId)
      : await findHeldAttempt(context.database, scope, attemptId, epoch);
  if (attempt === undefined) return;
  const processor = context.processors.findAt(scope, attempt.processorAccount);
  if (processor === undefined) return postpone(context, scope, attempt, pauseWhileNotConfiguredMs);
  if (attempt.status === 'accepted') return lookAgain(context, scope, attempt, processor);
  if (processor.isDown()) return postpone(context, scope, attempt, pauseWhileDownMs);
  if (isKeyForgotten(attempt.firstSentAt, attempt.now)) return lookUp(context, scope, attempt, processor);
  return send(context, scope, attempt, processor);
}

/**
 * The same for an attempt that this process has just stored as `sending`, under a lease that outlasts the call: storing it was the fence. An attempt
 * that has waited too long for its turn passes the fence again.
 */
export async function carryOutMadeAttempt(context: Context, scope: Scope, made: MadeAttempt): Promise<void> {
  const { attempt, refund, sendBefore } = made;
  const processor = context.processors.findAt(scope, attempt.processorAccount);
  const isFenced = performance.now() < sendBefore && processor?.isDown() === false;
  if (processor === undefined || !isFenced) return carryOutAttempt(context, scope, attempt.attemptId, attempt.epoch);
  const { settlements } = context.groups;
  settlements.expect(scope, attempt.attemptId);
  try {
    await sendFenced(context, scope, attempt, processor, refund);
  } finally {
    settlements.forget(scope, attempt.attemptId);
  }
}

function postpone({ database }: Context, scope: Scope, attempt: RefundAttempt, pauseMs: number): Promise<void> {
  const { attemptId, epoch, status } = attempt;
  return withTx(database, scope, (tx) =>
    status === 'accepted'
      ? postponeLook(tx, scope, attemptId, pauseMs)
      : postponeSend(tx, scope, attemptId, epoch, pauseMs),
  );
}

function claim({ database, budgets }: Context, scope: Scope, attemptId: string): Promise<RefundAttempt | undefined> {
  return withTx(database, scope, (tx) => {
    const claimed = claimAttempt(tx, scope, attemptId, budgets.leaseMs);
    commitBehind(tx);
    return claimed;
  });
}

async function send(
  context: Context,
  scope: Scope,
  { attemptId, epoch }: RefundAttempt,
  processor: ProcessorPort,
): Promise<void> {
  const { database, budgets } = context;
  const attempt = await withTx(database, scope, (tx) => {
    const fenced = fenceAttempt(tx, scope, attemptId, epoch, budgets.processorMs + budgets.marginMs);
    commitBehind(tx);
    return fenced;
  });
  if (attempt !== undefined) await sendFenced(context, scope, attempt, processor);
}

// `pending` is the refund as this process stored it when it became pending, if it did.
async function sendFenced(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  processor: ProcessorPort,
  pending?: Refund,
): Promise<void> {
  await context.failpoint('refund.after_fence');
  const outcome = await ask(context, attempt, processor);
  await context.failpoint('refund.after_call');
  if (outcome.kind === 'not_now') return settleNotNow(context, scope, attempt, outcome);
  if (outcome.kind !== 'rejected' && outcome.kind !== 'unknown')
    return settleAccepted(context, scope, attempt, outcome, pending);
  const next = judgeRefusal(outcome, attempt.sends);
  switch (next.step) {
    case 'fail':
      return settleFailed(context, scope, attempt, next.code);
    case 'look_up':
      return lookUp(context, scope, attempt, processor, outcome.kind === 'rejected' ? outcome.code : undefined);
    case 'alert':
      context.logger.warn(
        { attempt: attempt.attemptId, code: next.code },
        'Processor rejected a refund request; check its credentials and account',
      );
      return settleUnknown(context, scope, attempt);
    case 'send_again':
      return settleUnknown(context, scope, attempt);
  }
}

// Every send has the same bytes, so it must not contain values that can change.
function ask(context: Context, attempt: RefundAttempt, processor: ProcessorPort): Promise<RefundOutcome> {
  const { attemptId, refundId, processorIntentId, amountCents, captures } = attempt;
  return processor.createRefund(
    { refundId, intentId: processorIntentId, amountCents, captures, metadata: { attempt: attemptId } },
    { idempotencyKey: attemptId, timeoutMs: context.budgets.processorMs },
  );
}

/**
 * Looks the refund up at the processor once its key is exhausted. If the processor has none, a refused attempt has failed. If the key was used up or
 * forgotten, this creates a new attempt under a new key: a late request under the old key no longer has an effect.
 */
async function lookUp(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  processor: ProcessorPort,
  refusalCode?: string | undefined,
): Promise<void> {
  const { refundId, processorIntentId } = attempt;
  const found = await processor.findRefund(processorIntentId, refundId, {
    timeoutMs: context.budgets.processorMs,
  });
  switch (found.kind) {
    case 'not_now':
      return settleNotNow(context, scope, attempt, found);
    case 'unknown':
    case 'rejected':
      return settleUnknown(context, scope, attempt);
    case 'none':
      return refusalCode === undefined
        ? replaceAttempt(context, scope, attempt)
        : settleFailed(context, scope, attempt, refusalCode);
    default:
      return settleAccepted(context, scope, attempt, found);
  }
}

// A refund at the processor can still change: it is pending, or the card's bank returns it.
async function lookAgain(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  processor: ProcessorPort,
): Promise<void> {
  const { processorRefundId } = attempt;
  if (processorRefundId === null) throw new Error('An accepted attempt has no processor refund id');
  const outcome = await processor.retrieveRefund(processorRefundId, {
    timeoutMs: context.budgets.processorMs,
  });
  if (outcome.kind === 'rejected') {
    context.logger.warn(
      { attempt: attempt.attemptId, code: outcome.code },
      'Processor no longer returns an accepted refund',
    );
  }
  if (outcome.kind === 'not_now') return settleNotNow(context, scope, attempt, outcome);
  if (outcome.kind === 'unknown' || outcome.kind === 'rejected') return settleUnknown(context, scope, attempt);
  return settleAccepted(context, scope, attempt, outcome);
}
