import { withTx } from '@eligo/postgres';
import { stateTable } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import {
  claimRedemption,
  lockRedemption,
  type RedemptionState,
  settleRedemption,
  uncount,
} from '../store/redemptions.ts';

const states = stateTable<RedemptionState>({ reserved: ['final', 'released'], final: [], released: [] });

/**
 * Ends a session's redemption: `final` keeps it counted for good, `released` gives it back. Doing either again, or after the other, changes
 * nothing. A release that overtakes its reservation leaves a mark that refuses it.
 */
export function endRedemption(
  { database }: Context,
  { scope }: Asker,
  sessionId: string,
  to: 'final' | 'released',
): Promise<void> {
  return withTx(database, scope, async (tx) => {
    if (to === 'released') {
      const mark = { state: 'released', couponIds: [], promoCodeIds: [] } as const;
      if (await claimRedemption(tx, scope, sessionId, mark)) return;
    }
    const redemption = await lockRedemption(tx, scope, sessionId);
    if (redemption === undefined || !states.canMove(redemption.state, to)) return;
    if ((await settleRedemption(tx, scope, sessionId, to)) !== 1)
      throw new Error('A locked redemption changed its state');
    if (to === 'released') await uncount(tx, scope, redemption);
  });
}
