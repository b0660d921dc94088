import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { claimOperationOfIntent, insertOperation } from '../store/intent-operations.ts';
import { claimPlan, resumeHeldPlan } from '../store/payment-plans.ts';
import { carryOutPlan } from './carry-out-plan.ts';
import { finishHold } from './finish-hold.ts';

/**
 * Has everything that a paid session holds captured; the sweeper carries it out, whatever crashes. The first capture is decided in this transaction, so that no
 * cancellation can follow. A page's plan goes on to its other card once the health card is captured: a hold that is lost leaves nothing to refund.
 * The caller holds the session's row.
 */
export async function requestCaptures(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<void> {
  await resumeHeldPlan(tx, scope, sessionId, at);
  for (const attempt of await liveAttempts(tx, scope, 'session', sessionId)) {
    if (attempt.status !== 'succeeded' || attempt.leg !== 'health') continue;
    const id = newId('intent_operation');
    await insertOperation(tx, scope, { attemptId: attempt.id, id, kind: 'capture', at, leaseMs: 0 });
  }
}

// The caller waits for the response; the sweeper finishes what takes longer.
const timeoutMs = 2_000;

/** Carries out the requested captures of a session as far as that is quickly done, so that a client that reads it after the response finds it complete. */
export async function captureSoon(
  charging: Charging,
  scope: Scope,
  session: { readonly id: string; readonly paymentIntentIds: readonly string[] },
): Promise<void> {
  const { database, budgets, logger } = charging;
  const deadlineMs = performance.now() + timeoutMs;
  try {
    for (const id of session.paymentIntentIds) {
      const operation = await withTx(database, scope, (tx) => claimOperationOfIntent(tx, scope, id, budgets.leaseMs));
      const leftMs = Math.max(deadlineMs - performance.now(), 0);
      if (operation !== undefined) await finishHold(charging, scope, operation, leftMs);
    }
    const plan = await withTx(database, scope, (tx) => claimPlan(tx, scope, session.id, budgets.leaseMs));
    if (plan !== undefined) await carryOutPlan(charging, scope, plan, deadlineMs);
  } catch (error) {
    logger.warn({ err: error, sessionId: session.id }, 'Failed to capture an approved session; the sweeper will retry');
  }
}
