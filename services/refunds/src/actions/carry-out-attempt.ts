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
 * Carries out one step of an attempt: requests the refund of one card from the processor, under the attempt's own key and with the same parameters each
 * time, or checks its outcome. `epoch` is the claim of the process that created the attempt; without one this claims the attempt first.
 */
export async function carryOutAttempt(
  refunds: Refunds,
  scope: Scope,
  attemptId: string,
  epoch?: number,
): Promise<void> {
  const attempt = epoch === undefined ? await claim(refunds, scope, attemptId) : undefined;
  const held = epoch ?? attempt?.epoch;
  if (held === undefined) return;
  if (attempt?.status === 'accepted') return lookAgain(refunds, scope, attempt);
  if (processorOf(refunds, scope).isDown()) {
    return withTx(refunds.database, scope, (tx) => postponeSend(tx, scope, attemptId, held, pauseWhileDownMs));
  }
  if (attempt !== undefined && isKeyForgotten(attempt.firstSentAt, attempt.now)) return lookUp(refunds, scope, attempt);
  return send(refunds, scope, attemptId, held);
}

/**
 * The same for an attempt that this process has just stored as `sending`, under a lease that outlasts the call: storing it was the fence. An attempt
 * that has waited too long for its turn passes the fence again.
 */
export async function carryOutMadeAttempt(refunds: Refunds, scope: Scope, made: MadeAttempt): Promise<void> {
  const { attempt, refund, sendBefore } = made;
  const isFenced = performance.now() < sendBefore && !processorOf(refunds, scope).isDown();
  if (!isFenced) return carryOutAttempt(refunds, scope, attempt.attemptId, attempt.epoch);
  await sendFenced(refunds, scope, attempt, refund);
}

function claim({ database, budgets }: Refunds, scope: Scope, attemptId: string): Promise<RefundAttempt | undefined> {
  return withTx(database, scope, (tx) => {
    const claimed = claimAttempt(tx, scope, attemptId, budgets.leaseMs);
    commitBehind(tx);
    return claimed;
  });
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

// `pending` is the refund as this process stored it when it became pending, if it did.
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

// Every send has the same bytes, so it must not contain values that can change.
function ask(refunds: Refunds, scope: Scope, attempt: RefundAttempt): Promise<RefundOutcome> {
  const { attemptId, refundId, processorIntentId, amountCents } = attempt;
  return processorOf(refunds, scope).createRefund(
    { refundId, intentId: processorIntentId, amountCents, metadata: { attempt: attemptId } },
    { idempotencyKey: attemptId, timeoutMs: refunds.budgets.processorMs },
  );
}

/**
 * Looks the refund up at the processor once its key is exhausted. If the processor has none, a refused attempt has failed. If the key was used up or
 * forgotten, this creates a new attempt under a new key: a late request under the old key no longer has an effect.
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

// A refund at the processor can still change: it is pending, or the card's bank returns it.
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
