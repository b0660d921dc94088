import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { type ChargeAttempt, declinedByShopper } from '../domain/charge-attempt.ts';
import type { Session } from '../domain/session.ts';
import { findPendingAuthentication } from '../store/authentications.ts';
import { claimPlan, type PaymentPlan, savePlan } from '../store/payment-plans.ts';
import { loadSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { confirmTimeMs } from './begin-attempt.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { carryOutPlan } from './carry-out-plan.ts';
import { resumeSetUp } from './resume-set-up.ts';
import { settleAttempt } from './settle-attempt.ts';
import { takeOverAttempt } from './take-over-attempt.ts';

/**
 * Learns from the processor what came of an authentication on the page, and goes on with the payment or the set-up. What the browser says of it counts for nothing. With
 * `giveUp` the shopper wants another card: the intent is canceled if the bank is still waiting. Returns the session as it then is.
 */
export async function resumeAuthentication(
  context: Context,
  scope: Scope,
  sessionId: string,
  giveUp: boolean,
): Promise<Session> {
  const deadlineMs = performance.now() + context.budgets.callMs;
  const pending = await findPendingAuthentication(context.database, scope, sessionId);
  if (pending !== undefined) {
    const attempt = await withTx(context.database, scope, (tx) =>
      takeOverAttempt(context, tx, scope, pending.attemptId),
    );
    // Undefined: another process is finding it out.
    if (attempt !== undefined) {
      await context.failpoint('authentication.claimed');
      const isGivenUp = giveUp && (await cancelWaiting(context, scope, attempt, deadlineMs));
      const settled = isGivenUp
        ? await settleAttempt(context, scope, attempt, declinedByShopper)
        : await carryOutAttempt(context, scope, attempt, deadlineMs);
      await context.failpoint('authentication.settled');
      if (settled !== undefined) {
        await goOn(context, scope, sessionId, settled.attempt.status === 'succeeded', deadlineMs);
      }
    }
  }
  const session = await loadSession(context.database, scope, sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  if (session.status !== 'open' || session.setupIntentId === null) return session;
  await resumeSetUp(context, scope, session, giveUp);
  return (await loadSession(context.database, scope, sessionId)) ?? session;
}

/** Cancels an intent that waits for its shopper; true if it cannot charge any more, whatever the browser still does. */
export async function cancelWaiting(
  { processors }: Context,
  scope: Scope,
  attempt: ChargeAttempt,
  deadlineMs: number,
): Promise<boolean> {
  const { processorIntentId: intentId } = attempt;
  const processor = processors.findAt(scope, attempt.processorAccount);
  if (intentId === null || processor === undefined || processor.isDown()) return false;
  const remaining = () => Math.max(deadlineMs - performance.now(), 0);
  const known = await processor.retrieveIntent(intentId, { timeoutMs: remaining() });
  if (known.kind !== 'requires_action') return false;
  const canceled = await processor.cancelIntent(intentId, {
    idempotencyKey: `${attempt.id}:given-up:${attempt.checks}`,
    timeoutMs: remaining(),
  });
  return canceled.kind === 'canceled';
}

// A shopper who has just authenticated is there: the other card's time to confirm begins anew.
async function goOn(
  context: Context,
  scope: Scope,
  sessionId: string,
  hasPaid: boolean,
  deadlineMs: number,
): Promise<void> {
  const { budgets } = context;
  const plan = await withTx(context.database, scope, async (tx): Promise<PaymentPlan | undefined> => {
    const claimed = await claimPlan(tx, scope, sessionId, budgets.leaseMs);
    if (claimed?.state !== 'running' || !hasPaid) return claimed;
    const session = await loadSession(tx, scope, sessionId);
    if (session === undefined) throw new Error(`Session ${sessionId} not found`);
    const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
    return savePlan(tx, scope, claimed, budgets.leaseMs, confirmTimeMs(budgets, session, at));
  });
  if (plan !== undefined) await carryOutPlan(context, scope, plan, deadlineMs);
}
