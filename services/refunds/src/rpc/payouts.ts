import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import type { Implementation } from '@eligo/rpc';
import { createTestPayout } from '../actions/create-test-payout.ts';
import type { Context } from '../context.ts';
import { payoutMessage } from '../messages/payout.ts';
import { findPayout, listPayouts } from '../store/payout-list.ts';

/** Payouts as the gateway asks for them. */
export function payoutHandlers(context: Context): Implementation<typeof RefundsService> {
  const { database } = context;
  return {
    async getPayout({ id }, { scope }) {
      const payout = await findPayout(database, scope, id);
      if (payout === undefined) throw new Failure('payout_not_found');
      return payoutMessage(payout, scope.testMode);
    },
    async listPayouts({ page }, { scope }) {
      const { payouts, hasMore } = await listPayouts(database, scope, pageOf(page));
      return { payouts: payouts.map((payout) => payoutMessage(payout, scope.testMode)), hasMore };
    },
    async createTestPayout(_request, { scope }) {
      return payoutMessage(await createTestPayout(context, scope), scope.testMode);
    },
  };
}
