import { commitBehind, type Scope, withTx } from '@eligo/postgres';
import type { ProcessorPort, RefundOutcome } from '@eligo/processor';
import { isKeyForgotten, judgeRefusal } from '../domain/judge-outcome.ts';
import { pauseWhileDownMs } from '../domain/pauses.ts';
import type { Refund, RefundAttempt } from '../domain/refund.ts';
import type { MadeAttempt } from '../store/due-work.ts';
import { claimAttempt, fenceAttempt, postponeSend } from '../store/refund-attempts.ts';
import type { Refunds } from './context.ts';
import { replaceAttempt, settleAccepted, settleFailed, settleNotNow, settleUnknown } from './settle-attempt.ts';

/**
 * Drives one attempt a step on: asks the processor to give a card its part back, under the attempt's own key and with the same parameters each
 * time, or looks at what became of it. `epoch` is the claim of whoever made the attempt; without one it is claimed first.
 */
export async function driveAttempt(refunds: Refunds, scope: Scope, attemptId: string, epoch?: number): Promise<void> {
  const { database, budgets } = refunds;
  const attempt =
    epoch === undefined
      ? await withTx(database, scope, (tx) => claimAttempt(tx, scope, attemptId, budgets.leaseMs))
      : undefined;
  const held = epoch ?? attempt?.epoch;
  if (held === undefined) return;
  if (attempt?.status === 'accepted') return lookAgain(refunds, scope, attempt);
  if (processorOf(refunds, scope).isDown()) {
    return withTx(database, scope, (tx) => postponeSend(tx, scope, attemptId, held, pauseWhileDownMs));
  }
  if (attempt !== undefined && isKeyForgotten(attempt.firstSentAt, attempt.now)) return lookUp(refunds, scope, attempt);
  return send(refunds, scope, attemptId, held);
}

/**
 * The same for an attempt that this process has just written as sent, under a lease that outlives the call: writing it was the fence. An attempt
 * that has waited too long for its turn takes the fence again.
 */
export async function driveMadeAttempt(refunds: Refunds, scope: Scope, made: MadeAttempt): Promise<void> {
  const { attempt, refund, sendBefore } = made;
  const isFenced = performance.now() < sendBefore && !processorOf(refunds, scope).isDown();
  if (!isFenced) return driveAttempt(refunds, scope, attempt.attemptId, attempt.epoch);
  await sendFenced(refunds, scope, attempt, refund);
}

async function send(refunds: Refunds, scope: Scope, attemptId: string, epoch: number): Promise<void> {
  const { database, budgets } = refunds;
  const attempt = await withTx(database, scope, (tx) => {
    const fenced = fenceAttempt(tx, scope, attemptId, epoch, budgets.processorMs + budgets.marginMs);
    commitBehind(tx);
    return fenced;
  });
  if (attempt !== undefined) await sendFenced(refunds, scope, attempt);
}

// `pending` is the refund as this process has made it pending, if it has.
async function sendFenced(refunds: Refunds, scope: Scope, attempt: RefundAttempt, pending?: Refund): Promise<void> {
  await refunds.failpoint('refund.after_fence');
  const outcome = await ask(refunds, scope, attempt);
  await refunds.failpoint('refund.after_call');
  if (outcome.kind === 'not_now') return settleNotNow(refunds, scope, attempt, outcome);
  if (outcome.kind !== 'rejected' && outcome.kind !== 'unknown')
    return settleAccepted(refunds, scope, attempt, outcome, pending);
  const next = judgeRefusal(outcome, attempt.sends);
  switch (next.step) {
    case 'fail':
      return settleFailed(refunds, scope, attempt, next.code);
    case 'look_up':
      return lookUp(refunds, scope, attempt, outcome.kind === 'rejected' ? outcome.code : undefined);
    case 'alert':
      refunds.alert(
        { attempt: attempt.attemptId, code: next.code },
        'Processor rejects refund requests; check its credentials and account',
      );
      return settleUnknown(refunds, scope, attempt);
    case 'send_again':
      return settleUnknown(refunds, scope, attempt);
  }
}

// The same bytes at every send: nothing that could change in between may be among them.
function ask(refunds: Refunds, scope: Scope, attempt: RefundAttempt): Promise<RefundOutcome> {
  const { attemptId, refundId, processorIntentId, amountCents } = attempt;
  return processorOf(refunds, scope).createRefund(
    { refundId, intentId: processorIntentId, amountCents, metadata: { attempt: attemptId } },
    { idempotencyKey: attemptId, timeoutMs: refunds.budgets.processorMs },
  );
}

/**
 * Asks whether the processor has the refund, where its key can tell nothing more. When it has none, the attempt has failed if it was refused,
 * and is made anew under a new key if its key was used up or forgotten: no late request under the old one can do anything any more.
 */
async function lookUp(
  refunds: Refunds,
  scope: Scope,
  attempt: RefundAttempt,
  refusalCode?: string | undefined,
): Promise<void> {
  const { refundId, processorIntentId } = attempt;
  const found = await processorOf(refunds, scope).findRefund(processorIntentId, refundId, {
    timeoutMs: refunds.budgets.processorMs,
  });
  switch (found.kind) {
    case 'not_now':
      return settleNotNow(refunds, scope, attempt, found);
    case 'unknown':
    case 'rejected':
      return settleUnknown(refunds, scope, attempt);
    case 'none':
      return refusalCode === undefined
        ? replaceAttempt(refunds, scope, attempt)
        : settleFailed(refunds, scope, attempt, refusalCode);
    default:
      return settleAccepted(refunds, scope, attempt, found);
  }
}

// What the processor has may still move: it is pending, or the card's bank sends it back.
async function lookAgain(refunds: Refunds, scope: Scope, attempt: RefundAttempt): Promise<void> {
  const { processorRefundId } = attempt;
  if (processorRefundId === null) throw new Error('An accepted attempt has no processor refund id');
  const outcome = await processorOf(refunds, scope).retrieveRefund(processorRefundId, {
    timeoutMs: refunds.budgets.processorMs,
  });
  if (outcome.kind === 'rejected') {
    refunds.alert({ attempt: attempt.attemptId, code: outcome.code }, 'Processor no longer returns an accepted refund');
  }
  if (outcome.kind === 'not_now') return settleNotNow(refunds, scope, attempt, outcome);
  if (outcome.kind === 'unknown' || outcome.kind === 'rejected') return settleUnknown(refunds, scope, attempt);
  return settleAccepted(refunds, scope, attempt, outcome);
}

function processorOf({ processors }: Refunds, scope: Scope): ProcessorPort {
  return processors.of(scope);
}
