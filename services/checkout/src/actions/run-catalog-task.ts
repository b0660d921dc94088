import { type Db, type Scope, withTx } from '@eligo/postgres';
import type { CallOptions } from '@eligo/rpc';
import { isId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type CatalogTask, deleteCatalogTask, postponeCatalogTask } from '../store/catalog-tasks.ts';
import { hasDiscount } from '../store/repricings.ts';
import { loadSession } from '../store/sessions.ts';

/** Does a task at the catalog, where each is idempotent by session, and takes it away; one that fails is put off. */
export async function runCatalogTask(
  { database, catalog, logger }: Pick<Context, 'database' | 'catalog' | 'logger'>,
  task: CatalogTask,
  call: CallOptions,
): Promise<void> {
  const { scope, sessionId, kind } = task;
  try {
    await callCatalog({ database, catalog }, task, call);
  } catch (error) {
    const tries = await withTx(database, scope, (tx) => postponeCatalogTask(tx, task));
    logger.warn({ err: error, sessionId, operation: kind, attempts: tries }, 'Catalog task failed; will retry');
    return;
  }
  await withTx(database, scope, (tx) => deleteCatalogTask(tx, scope, sessionId, kind));
}

async function callCatalog(
  { database, catalog }: Pick<Context, 'database' | 'catalog'>,
  { scope, sessionId, kind }: CatalogTask,
  call: CallOptions,
): Promise<void> {
  switch (kind) {
    case 'activate':
      await catalog.activateInline({ sessionId }, call);
      return;
    case 'finalize':
      await catalog.finalizeRedemption({ sessionId }, call);
      return;
    case 'release':
      await catalog.releaseRedemption({ sessionId }, call);
      return;
    case 'release_unless_written':
      if (!(await isWritten(database, scope, sessionId))) await catalog.releaseRedemption({ sessionId }, call);
  }
}

// The code that a shopper entered is reserved under the id of its discount.
async function isWritten(database: Db, scope: Scope, id: string): Promise<boolean> {
  if (isId('discount', id)) return hasDiscount(database, scope, id);
  return (await loadSession(database, scope, id)) !== undefined;
}
