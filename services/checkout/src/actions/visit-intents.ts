import { type Database, inPages, type Scope, withTx } from '@eligo/postgres';
import { intentsOfCustomer, intentsOfSessions, sessionsOfCustomer } from '../store/intents-of-erased.ts';

const rowsOfPage = 50;

/**
 * Visits the payment intents that the erasure of a customer follows, those of sessions and of renewals, page by page; one may come twice. Changes nothing. `database`
 * is open as a role that row-level security does not bind.
 */
export async function visitIntents(
  database: Database,
  scope: Scope,
  customerId: string,
  visit: (paymentIntentIds: readonly string[]) => Promise<void>,
): Promise<void> {
  await inPages<string>(rowsOfPage, async (after = '') => {
    const page = await withTx(database, scope, async (tx) => {
      const ids = await sessionsOfCustomer(tx, scope, customerId, after, rowsOfPage);
      return { ids, intents: await intentsOfSessions(tx, scope, ids) };
    });
    await visit(page.intents);
    return page.ids;
  });
  await inPages<string>(rowsOfPage, async (after = '') => {
    const ids = await withTx(database, scope, (tx) => intentsOfCustomer(tx, scope, customerId, after, rowsOfPage));
    await visit(ids);
    return ids;
  });
}
