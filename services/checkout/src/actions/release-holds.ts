import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { liveAttempts } from '../store/charge-attempts.ts';
import { insertOperation } from '../store/intent-operations.ts';
import { lockLivePlan } from '../store/payment-plans.ts';

/**
 * Prepares a session's end: every hold is to be let go, which the sweeper does at the processor. False when money is moving or has moved, and
 * the session must not end now. The caller holds the session's row.
 */
export async function releaseHolds(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<boolean> {
  const [attempts, live] = await Promise.all([
    liveAttempts(tx, scope, 'session', sessionId),
    lockLivePlan(tx, scope, sessionId),
  ]);
  if (live?.leaseLive && (live.plan.state === 'running' || live.plan.state === 'releasing')) return false;
  const held = attempts.filter((attempt) => attempt.status === 'succeeded' && attempt.captureMethod === 'manual');
  if (held.length !== attempts.length) return false;
  for (const attempt of held) {
    const operation = await insertOperation(tx, scope, {
      attemptId: attempt.id,
      id: newId('intent_operation'),
      kind: 'cancel',
      at,
      leaseMs: 0,
    });
    // Its capture was decided before.
    if (operation === undefined) return false;
  }
  if (live !== undefined) await tx.execute(endPlan, scope, [live.plan.id]);
  return true;
}

const endPlan = scoped(
  'checkout.payment_plan_end',
  `update checkout.payment_plans set state = 'failed', epoch = epoch + 1
   where account_id = $1 and test_mode = $2 and id = $3 and state not in ('done', 'failed')`,
);
