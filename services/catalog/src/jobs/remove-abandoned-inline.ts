import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Job } from '@eligo/service';
import type { Context } from '../context.ts';
import { findAbandonedCoupons, removeAbandonedCoupon } from '../store/abandoned-coupons.ts';
import { findAbandonedLines, removeAbandonedLine } from '../store/abandoned-lines.ts';

const BATCH = 200;

// Longer than the thirty days for which a session's creation can be repeated under its key, and than checkout can be away with the news that
// the session was written.
const abandonedAfterMs = 45 * 86_400_000;

/** Removes the products, prices and coupons of sessions that never came to be: the creation failed after its cart was resolved. */
export function removeAbandonedInline({ database, clock }: Pick<Context, 'database' | 'clock'>): Job {
  return {
    name: 'remove-abandoned-inline',
    everyMs: 3_600_000,
    async run(signal) {
      const madeBefore = new Date(clock.now().getTime() - abandonedAfterMs);
      const lines = await findAbandonedLines(database, madeBefore, BATCH);
      const moreLines = await removeEach(database, lines, removeAbandonedLine, signal);
      const coupons = await findAbandonedCoupons(database, madeBefore, BATCH);
      const moreCoupons = await removeEach(database, coupons, removeAbandonedCoupon, signal);
      return moreLines || moreCoupons;
    },
  };
}

/** Removes each in its own account and transaction; resolves with whether there may be more. */
async function removeEach<Part extends Scope>(
  database: Database,
  parts: readonly Part[],
  remove: (tx: Tx, scope: Scope, part: Part) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  let removed = 0;
  for (const part of parts) {
    if (signal.aborted) return false;
    const scope = { accountId: part.accountId, testMode: part.testMode };
    if (await withTx(database, scope, (tx) => remove(tx, scope, part))) removed += 1;
  }
  return parts.length === BATCH && removed > 0;
}
