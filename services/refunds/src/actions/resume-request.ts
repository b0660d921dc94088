import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { claimRequest } from '../store/requested-refunds.ts';
import { carryOutRequest } from './carry-out-request.ts';

/** Carries out a request whose process died, or that another service decided. A refusal ends it. */
export async function resumeRequest(context: Context, scope: Scope, refundId: string): Promise<void> {
  const { database, budgets } = context;
  const requested = await withTx(database, scope, (tx) => claimRequest(tx, scope, refundId, budgets.leaseMs));
  if (requested === undefined) return;
  try {
    await carryOutRequest(context, scope, requested, context.callFor(scope, requested.features));
  } catch (error) {
    // An expected refusal: it is stored, and no client waits for it.
    if (!(error instanceof Failure)) throw error;
    context.logger.warn({ refundId, code: error.code }, 'Refund request was refused');
  }
}
