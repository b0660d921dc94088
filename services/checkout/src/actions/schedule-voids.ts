import type { Failure } from '@eligo/failures';
import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { findDecision, insertVoid } from '../store/intent-operations.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { endPlan, lockLivePlan } from '../store/payment-plans.ts';
import { abandonAttempt } from './abandon-attempt.ts';

/**
 * Prepares the end of a session: schedules a void of every hold, which the sweeper performs at the processor, and abandons unsent attempts. From
 * then on the key of an abandoned attempt answers `ended`. Returns false when money is moving or has moved and the session must not end now; the
 * caller then rolls back. `known` are its live attempts, if the caller has read them. The caller holds the session's row.
 */
export async function scheduleVoids(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  at: Date,
  ended: Failure,
  known?: readonly ChargeAttempt[],
): Promise<boolean> {
  const [attempts, live] = await Promise.all([
    known ?? liveAttempts(tx, scope, 'session', sessionId),
    lockLivePlan(tx, scope, sessionId),
  ]);
  if (live?.leaseLive && (live.plan.state === 'running' || live.plan.state === 'releasing')) return false;
  for (const attempt of attempts) {
    // It has not passed its fence, so it was not sent; abandoning it takes its epoch, so it never will be.
    const isUnsent = attempt.status === 'created' && attempt.leaseDead;
    if (isUnsent && (await abandonAttempt(tx, scope, attempt.id, { ended }))) continue;
    if (attempt.status !== 'succeeded' || attempt.captureMethod !== 'manual') return false;
    const operation = await insertVoid(tx, scope, {
      attemptId: attempt.id,
      id: newId('intent_operation'),
      at,
      leaseMs: 0,
    });
    // An earlier decision stands: a void is compatible with the end of the session, a capture is not.
    if (operation === undefined && (await findDecision(tx, scope, attempt.paymentIntentId)) !== 'cancel') return false;
  }
  if (live !== undefined) {
    await Promise.all([endPlan(tx, scope, live.plan), releasePaymentLocks(tx, scope, live.plan.id)]);
  }
  return true;
}
