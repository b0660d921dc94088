import { withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { StoredDiscount } from '../domain/discounts.ts';
import { type CatalogTask, deleteCatalogTask, postponeCatalogTask } from '../store/catalog-tasks.ts';
import { findSubscription } from '../store/subscriptions.ts';

/** Does a task at the catalog, where each is idempotent by discount, and takes it away; one that fails is put off. */
export async function runCatalogTask(context: Context, task: CatalogTask): Promise<void> {
  const { scope } = task;
  try {
    await callCatalog(context, task);
  } catch (error) {
    const tries = await withTx(context.database, scope, (tx) => postponeCatalogTask(tx, task));
    const { subscriptionId, kind } = task;
    context.logger.warn(
      { err: error, subscriptionId, operation: kind, attempts: tries },
      'Catalog task failed; will retry',
    );
    return;
  }
  await withTx(context.database, scope, (tx) => deleteCatalogTask(tx, task));
}

async function callCatalog(context: Context, { scope, discountId, subscriptionId, kind }: CatalogTask): Promise<void> {
  const call = { caller: context.callerFor(scope) };
  if (kind === 'finalize') {
    await context.catalog.finalizeRedemption({ sessionId: discountId }, call);
    return;
  }
  if (kind === 'release_unless_written') {
    const subscription = await findSubscription(context.database, scope, subscriptionId);
    const discounts = (subscription?.discounts ?? []) as readonly StoredDiscount[];
    if (discounts.some((discount) => discount.discountId === discountId)) return;
  }
  await context.catalog.releaseRedemption({ sessionId: discountId }, call);
}
