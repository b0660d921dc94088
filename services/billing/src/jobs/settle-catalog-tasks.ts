import { withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import type { StoredDiscount } from '../domain/discounts.ts';
import {
  type CatalogTask,
  catalogTasksJob,
  deleteCatalogTask,
  dueCatalogTasks,
  nextCatalogTaskInMs,
  postponeCatalogTask,
} from '../store/catalog-tasks.ts';
import { findSubscription } from '../store/subscriptions.ts';

const batch = 50;

/** Makes the pending calls to the catalog: finalize or release the redemptions of discounts. */
export function settleCatalogTasks(context: Context): Job {
  return {
    name: catalogTasksJob,
    // Each task wakes the job; this finds what a process that died had noted.
    everyMs: 60_000,
    async run(signal) {
      const due = await dueCatalogTasks(context.database, batch);
      for (const task of due) {
        if (signal.aborted) return false;
        await runCatalogTask(context, task);
      }
      return due.length === batch || { dueInMs: await nextCatalogTaskInMs(context.database) };
    },
  };
}

// Each call is idempotent by discount.
async function runCatalogTask(context: Context, task: CatalogTask): Promise<void> {
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
