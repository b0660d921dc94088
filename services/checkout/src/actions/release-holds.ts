import type { Failure } from '@eligo/failures';
import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { liveAttempts } from '../store/charge-attempts.ts';
import { findDecision, insertOperation } from '../store/intent-operations.ts';
import { releasePaymentLocks } from '../store/payment-locks.ts';
import { endPlan, lockLivePlan } from '../store/payment-plans.ts';
import { giveUpAttempt } from './give-up-attempt.ts';

/**
 * Prepares a session's end: every hold is to be let go, which the sweeper does at the processor, and what was begun and never sent is given up.
 * The key that began what is given up answers `ended` from then on. False when money is moving or has moved, and the session must not end now;
 * the caller then rolls back. The caller holds the session's row.
 */
export async function releaseHolds(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  at: Date,
  ended: Failure,
): Promise<boolean> {
  const [attempts, live] = await Promise.all([
    liveAttempts(tx, scope, 'session', sessionId),
    lockLivePlan(tx, scope, sessionId),
  ]);
  if (live?.leaseLive && (live.plan.state === 'running' || live.plan.state === 'releasing')) return false;
  for (const attempt of attempts) {
    // Nobody has sent it: its fence is not passed. And nobody will: giving it up takes its epoch.
    const isUnsent = attempt.status === 'created' && attempt.leaseDead;
    if (isUnsent && (await giveUpAttempt(tx, scope, attempt.id, { ended }))) continue;
    if (attempt.status !== 'succeeded' || attempt.captureMethod !== 'manual') return false;
    const operation = await insertOperation(tx, scope, {
      attemptId: attempt.id,
      id: newId('intent_operation'),
      kind: 'cancel',
      at,
      leaseMs: 0,
    });
    // What was decided before stays: that it is let go suits the end, that it is captured does not.
    if (operation === undefined && (await findDecision(tx, scope, attempt.paymentIntentId)) !== 'cancel') return false;
  }
  if (live !== undefined) {
    await Promise.all([endPlan(tx, scope, live.plan), releasePaymentLocks(tx, scope, live.plan.id)]);
  }
  return true;
}
