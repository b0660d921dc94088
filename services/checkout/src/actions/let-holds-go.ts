import { type Scope, withTx } from '@eligo/postgres';
import type { Charging } from '../charging.ts';
import type { Session } from '../domain/session.ts';
import { claimOperationOfIntent } from '../store/intent-operations.ts';
import { finishHold } from './finish-hold.ts';

// The partner waits for the answer, and the sweeper goes on with what takes longer.
const patienceMs = 2_000;

/**
 * Lets the holds of an ended session go at the processor, so that whoever reads its payment intents after the answer finds them canceled. Its
 * end has been committed and stands whatever becomes of this.
 */
export async function letHoldsGo(charging: Charging, scope: Scope, session: Session): Promise<void> {
  await Promise.all(
    session.paymentIntentIds.map(async (paymentIntentId) => {
      try {
        const operation = await withTx(charging.database, scope, (tx) =>
          claimOperationOfIntent(tx, scope, paymentIntentId, charging.budgets.leaseMs),
        );
        if (operation !== undefined) await finishHold(charging, scope, operation, patienceMs);
      } catch (error) {
        charging.logger.warn({ err: error, paymentIntentId }, 'Failed to void a hold; the sweeper will retry');
      }
    }),
  );
}
