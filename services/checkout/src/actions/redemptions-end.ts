import type { Scope, Tx } from '@eligo/postgres';
import type { Session } from '../domain/session.ts';
import { insertCatalogTask } from '../store/catalog-tasks.ts';

/**
 * Notes that the session's redemptions are to be settled at the catalog: final if it completed, released if it ended otherwise. A task and
 * not a call, since no call is made inside a transaction and none may be lost. A session without discounts has none; the code that
 * a shopper entered has one of its own, under the id of its discount.
 */
export async function appendRedemptionsEnd(
  tx: Tx,
  scope: Scope,
  session: Session,
  redemptions: 'finalize' | 'release',
): Promise<void> {
  for (const id of reservationsOf(session)) await insertCatalogTask(tx, scope, id, redemptions);
}

/** The ids that the session's redemptions are counted under. */
export function reservationsOf({ id, discounts }: Pick<Session, 'id' | 'discounts'>): string[] {
  const entered = discounts.filter(({ enteredCode }) => enteredCode !== null);
  return [...(discounts.length > entered.length ? [id] : []), ...entered.map((discount) => discount.id)];
}
