import type { Failure } from '@eligo/failures';
import { finishKeyOfAttempt, releaseKeyOfAttempt, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { refusalByStatus } from '../domain/confirm-rules.ts';
import { abandonLateAttempt } from '../store/late-attempts.ts';
import { recordRelease } from '../store/payment-intents.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { wakePlan } from '../store/payment-plans.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { appendChargeAuthenticated } from './authentication-command.ts';
import { refusalAnswer } from './confirm-answer.ts';
import { appendLateOutcome, isLate } from './late-outcome.ts';
import { appendIntentEvent } from './payment-events.ts';

/**
 * Records that an attempt which came too late is canceled at the processor, in one transaction: attempt, intent, locks, event, and its key, which
 * answers how the session ended, or is free for a new charge while the session is open.
 */
export async function abandonLate(context: Context, scope: Scope, attempt: ChargeAttempt): Promise<void> {
  await withTx(context.database, scope, async (tx) => {
    const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;
    if (!(await abandonLateAttempt(tx, scope, attempt.id))) return;
    const at = await timeOnClock(tx, scope, context.clock, session?.testClockId ?? null);
    const intent = await recordRelease(tx, scope, attempt.paymentIntentId);
    await Promise.all([
      // A page's cards are locked for its plan.
      attempt.driver === 'page' ? wakePlan(tx, scope, attempt.subjectId) : releasePaymentLocks(tx, scope, attempt.id),
      endKey(tx, scope, attempt.id, session && refusalByStatus(session, at)),
      appendIntentEvent(tx, scope, 'payment_intent.canceled', intent, attempt.actingAt),
      session && isLate(attempt) ? appendLateOutcome(tx, scope, session, 'failed', at) : undefined,
    ]);
    await appendChargeAuthenticated(tx, scope, { ...attempt, status: 'abandoned' }, intent);
    await context.failpoint('late.before_abandon_commit');
  });
  await context.failpoint('late.abandoned');
}

async function endKey(tx: Tx, scope: Scope, attemptId: string, ended: Failure | undefined): Promise<void> {
  if (ended === undefined) await releaseKeyOfAttempt(tx, scope, attemptId);
  else await finishKeyOfAttempt(tx, scope, attemptId, refusalAnswer(ended));
}
