import { encodeEvent } from '@eligo/events';
import { afterCommit, commitBehind, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { NotNow } from '@eligo/processor';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { pauseAfterFailedLookMs, pauseWhileAcceptedMs, pauseWhileUnknownMs } from '../domain/pauses.ts';
import type { Refund, RefundAttempt, RefundItem } from '../domain/refund.ts';
import { insertAttempts, moveAttempt, postponeLook, postponeSend } from '../store/refund-attempts.ts';
import { lockRefund } from '../store/refunds.ts';
import { applyMove, type ItemMove, moveOf, type RefundFacts } from './apply-facts.ts';
import { refundEvent } from './refund-events.ts';

/**
 * Writes down what the processor has: its id, what it stands at, and when to look again. `pending` is the refund as the caller has made it
 * pending, which saves reading it; should it have changed since, it is read.
 */
export async function settleAccepted(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  facts: RefundFacts,
  pending?: Refund,
): Promise<void> {
  if (facts.amountCents !== attempt.amountCents) {
    context.logger.warn(
      { attempt: attempt.attemptId },
      'Processor reports a refund amount that differs from the requested amount',
    );
    return settleUnknown(context, scope, attempt);
  }
  if (pending !== undefined && (await settledAtOnce(context, scope, attempt, facts, pending))) {
    await context.failpoint('refund.after_settle');
    return;
  }
  await settle(context, scope, attempt, moveOf(facts), async (tx) => {
    const isFirst = attempt.status !== 'accepted';
    const isSettled = facts.kind !== 'pending' && facts.kind !== 'requires_action';
    const isOver = facts.kind === 'failed' || facts.kind === 'canceled';
    const pauseMs = isOver ? undefined : pauseWhileAcceptedMs(isFirst ? 0 : attempt.checks + 1, isSettled);
    const processorRefundId = facts.refundId;
    const accepted = await moveAttempt(tx, scope, attempt.attemptId, {
      status: 'accepted',
      pauseMs,
      processorRefundId,
    });
    if (accepted && pauseMs === undefined) await moveAttempt(tx, scope, attempt.attemptId, { status: 'ended' });
    return accepted;
  });
  await context.failpoint('refund.after_settle');
}

// What nearly every refund is: on one card, gone through at the first try, changed by nobody meanwhile. The others are settled step by step.
async function settledAtOnce(
  { groups }: Context,
  scope: Scope,
  attempt: RefundAttempt,
  facts: RefundFacts,
  pending: Refund,
): Promise<boolean> {
  const [item] = pending.items;
  const pauseMs = pauseWhileAcceptedMs(0, true);
  if (facts.kind !== 'succeeded' || item === undefined || pending.items.length > 1 || pauseMs === undefined)
    return false;
  const { reference = item.reference } = moveOf(facts);
  const settled: RefundItem = { ...item, status: 'succeeded', reference };
  const refund: Refund = { ...pending, status: 'succeeded', reference, items: [settled] };
  return groups.settlements.submit(scope, {
    ...{ refund, item: settled, attempt, processorRefundId: facts.refundId, pauseMs },
    events: [encodeEvent(refundEvent(scope, 'refund.updated', refund))],
  });
}

/** Writes down that the processor will not do it and has done nothing. */
export async function settleFailed(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  code: string,
): Promise<void> {
  const move: ItemMove = { status: 'releasing', endStatus: 'failed', failureCode: code };
  await settle(context, scope, attempt, move, (tx) =>
    moveAttempt(tx, scope, attempt.attemptId, { status: 'failed', failureCode: code }),
  );
  await context.failpoint('refund.after_settle');
}

/** The processor asks to come back later: the attempt stays what it is, no check counts, and it is asked again then. */
export function settleNotNow(
  { database }: Context,
  scope: Scope,
  attempt: RefundAttempt,
  { retryAfterMs }: NotNow,
): Promise<void> {
  return withTx(database, scope, (tx) => {
    const { attemptId, epoch } = attempt;
    const postponed =
      attempt.status === 'accepted'
        ? postponeLook(tx, scope, attemptId, retryAfterMs)
        : postponeSend(tx, scope, attemptId, epoch, retryAfterMs);
    commitBehind(tx);
    return postponed;
  });
}

/** Writes down that nobody knows, and when to ask again. What is accepted stays so. */
export function settleUnknown({ database }: Context, scope: Scope, attempt: RefundAttempt): Promise<void> {
  return withTx(database, scope, async (tx) => {
    const { attemptId, checks } = attempt;
    const written =
      attempt.status === 'accepted'
        ? postponeLook(tx, scope, attemptId, pauseAfterFailedLookMs)
        : moveAttempt(tx, scope, attemptId, { status: 'unknown', pauseMs: pauseWhileUnknownMs(checks) });
    commitBehind(tx);
    await written;
  });
}

/** Makes an attempt anew under a new key, once it is certain that the old one has moved nothing and never will. */
export function replaceAttempt(context: Context, scope: Scope, attempt: RefundAttempt): Promise<void> {
  const attemptId = newId('charge_attempt');
  return withTx(context.database, scope, async (tx) => {
    await lockRefund(tx, scope, attempt.refundId);
    const failed = await moveAttempt(tx, scope, attempt.attemptId, { status: 'failed', failureCode: 'key_used_up' });
    if (!failed) return;
    await insertAttempts(tx, scope, [{ ...attempt, attemptId }], context.budgets.leaseMs);
    afterCommit(tx, () => context.wake([{ kind: 'attempt', scope, attemptId, epoch: 1 }]));
  });
}

// The refund is locked first, as every writer of it does; a fact that comes late finds the attempt where no move leads on.
async function settle(
  context: Context,
  scope: Scope,
  attempt: RefundAttempt,
  move: ItemMove,
  moveOwn: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  await withTx(
    context.database,
    scope,
    async (tx) => {
      const refund = await lockRefund(tx, scope, attempt.refundId);
      if (refund === undefined) throw new Error('An attempt has no refund');
      if (!(await moveOwn(tx))) return;
      const after = await applyMove(tx, scope, refund, attempt.paymentIntentId, move, attempt.now);
      wakeReleasing(context, tx, scope, after, attempt.paymentIntentId);
    },
    { retrySerialization: 3 },
  );
}

// Schedules the call to checkout, once this is committed, if this card's item is to be released.
function wakeReleasing(context: Context, tx: Tx, scope: Scope, refund: Refund, paymentIntentId: string): void {
  const item = refund.items.find((part) => part.paymentIntentId === paymentIntentId);
  if (item?.status !== 'releasing') return;
  const { refundId } = refund;
  afterCommit(tx, () => context.wake([{ kind: 'releasing', scope, refundId, paymentIntentId }]));
}
