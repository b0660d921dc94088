import { type Scope, withTx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Context } from '../context.ts';
import { type AccountFeatures, saveAccountFeatures } from '../store/account-features.ts';
import { freeAwaiting, lockAccountFeatures } from '../store/awaited-features.ts';
import { runDueJob } from './wake-when-due.ts';

// Each is an update of a subscription: a page takes some milliseconds.
const pageSize = 500;

/**
 * Stores what an account can do, unless something newer is stored, and frees the renewals that waited for it. The gateway tells it again until this has returned: what
 * a crash leaves is freed then.
 */
export async function recordAccountFeatures(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  told: AccountFeatures,
): Promise<void> {
  await withTx(database, scope, async (tx) => {
    await lockAccountFeatures(tx, scope);
    await saveAccountFeatures(tx, scope, told);
  });
  let freed: number;
  do {
    freed = await withTx(database, scope, async (tx) => {
      const count = await freeAwaiting(tx, scope, pageSize);
      if (count > 0) wakeJobAfterCommit(tx, runDueJob);
      return count;
    });
  } while (freed === pageSize);
}
