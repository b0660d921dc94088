import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { pauseOfReleaseMs } from '../domain/pauses.ts';
import { claimReleasingItem, postponeReleasingItem } from '../store/refund-items.ts';
import { lockRefund } from '../store/refunds.ts';
import { endFailedItem } from './apply-facts.ts';

/**
 * Restores the remaining balance after one card's refund failed: calls checkout, which does so once however often it is called, and then ends the item
 * with the movements and the event.
 */
export async function releaseItem(
  context: Context,
  scope: Scope,
  refundId: string,
  paymentIntentId: string,
): Promise<void> {
  const { database, checkout, budgets } = context;
  const item = await withTx(database, scope, (tx) =>
    claimReleasingItem(tx, scope, refundId, paymentIntentId, budgets.leaseMs),
  );
  if (item === undefined) return;
  try {
    const call = { ...context.callFor(scope, []), timeoutMs: budgets.checkoutMs };
    await checkout.releaseRefund({ refundId, paymentIntentIds: [paymentIntentId] }, call);
  } catch (error) {
    await withTx(database, scope, (tx) => postponeReleasingItem(tx, scope, item, pauseOfReleaseMs(item.checks)));
    throw error;
  }
  await context.failpoint('refund.after_release');
  await withTx(database, scope, async (tx) => {
    const refund = await lockRefund(tx, scope, refundId);
    if (refund === undefined) throw new Error('A refund item has no refund');
    await endFailedItem(tx, scope, refund, paymentIntentId, new Date());
  });
  await context.failpoint('refund.after_failure');
}
