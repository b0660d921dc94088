import { type Database, inPages, type Scope, withTx } from '@eligo/postgres';
import { disputesOfIntent, eraseDisputesOf, filesOfErased, markErased } from '../store/erased-intents.ts';

/** What was erased of disputes, and the files that they alone were given. */
export interface ErasedDisputes {
  readonly disputes: number;
  readonly fileIds: readonly string[];
}

/**
 * Erases the evidence that partners gave about a person in the disputes of these payment intents. Amounts, reasons and states stay: the books need them. `database` is
 * open as a role that row-level security does not bind. Safe to repeat: it returns the same files again.
 */
export async function eraseDisputes(
  database: Database,
  scope: Scope,
  paymentIntentIds: readonly string[],
): Promise<ErasedDisputes> {
  // A transaction of its own: a look holds its dispute while it waits for the lock of the mark.
  await withTx(database, scope, (tx) => markErased(tx, scope, paymentIntentIds));
  let disputes = 0;
  const fileIds = new Set<string>();
  for (const intentId of paymentIntentIds) {
    await inPages<string>(disputesOfPage, async (after = '') => {
      const ids = await disputesOfIntent(database, scope, intentId, after, disputesOfPage);
      if (ids.length === 0) return ids;
      disputes += await withTx(database, scope, (tx) => eraseDisputesOf(tx, scope, ids));
      for (const id of await filesOfErased(database, scope, ids)) fileIds.add(id);
      return ids;
    });
  }
  return { disputes, fileIds: [...fileIds] };
}

// A payment intent has one or two, and each at most a hundred files.
const disputesOfPage = 10;
