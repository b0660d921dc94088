import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Session } from '../domain/session.ts';
import { claimOperationOfIntent } from '../store/intent-operations.ts';
import { finishHold } from './finish-hold.ts';

/**
 * Voids the holds of an ended session at the processor, so that a client that reads its payment intents after the response finds them canceled.
 * The end of the session is already committed; it stands even if voiding fails.
 */
export async function voidHolds(context: Context, scope: Scope, session: Session): Promise<void> {
  const { leaseMs, soonMs } = context.budgets;
  await Promise.all(
    session.paymentIntentIds.map(async (paymentIntentId) => {
      try {
        const operation = await withTx(context.database, scope, (tx) =>
          claimOperationOfIntent(tx, scope, paymentIntentId, leaseMs),
        );
        if (operation !== undefined) await finishHold(context, scope, operation, soonMs);
      } catch (error) {
        context.logger.warn({ err: error, paymentIntentId }, 'Failed to void a hold; the sweeper will retry');
      }
    }),
  );
}
