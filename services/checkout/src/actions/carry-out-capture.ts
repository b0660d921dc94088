import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { claimOperationOfCapture, claimOperationOfIntent, type IntentOperation } from '../store/intent-operations.ts';
import { finishHold } from './finish-hold.ts';

// A session has two cards at most.
const maxCards = 2;

/**
 * Captures the cards of a capture at the processor, one after the other, beginning with an operation of which the caller holds the lease. What cannot be
 * finished in time is finished by the sweeper.
 */
export async function carryOutCapture(
  context: Context,
  scope: Scope,
  first: IntentOperation,
  deadlineMs: number,
): Promise<void> {
  let operation: IntentOperation | undefined = first;
  for (let count = 0; count < maxCards && operation !== undefined; count++) {
    const captureId: string | null = operation.captureId;
    const isSettled = await finishHold(context, scope, operation, Math.max(deadlineMs - performance.now(), 0));
    if (!isSettled || captureId === null) return;
    operation = await withTx(context.database, scope, (tx) =>
      claimOperationOfCapture(tx, scope, captureId, context.budgets.leaseMs),
    );
  }
}

/** Carries out the requested capture of a session as far as that is quickly done, so that a client that reads it after the response finds it complete. */
export async function captureSoon(context: Context, scope: Scope, session: Session): Promise<void> {
  const { leaseMs, soonMs } = context.budgets;
  const deadlineMs = performance.now() + soonMs;
  try {
    for (const id of session.paymentIntentIds) {
      const operation = await withTx(context.database, scope, (tx) => claimOperationOfIntent(tx, scope, id, leaseMs));
      if (operation !== undefined) await carryOutCapture(context, scope, operation, deadlineMs);
    }
  } catch (error) {
    context.logger.warn({ err: error, sessionId: session.id }, 'Failed to capture a session; the sweeper will retry');
  }
}
