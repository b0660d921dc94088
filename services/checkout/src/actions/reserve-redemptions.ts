import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { CartDiscount } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import type { Session } from '../domain/session.ts';
import type { Resources } from '../resources.ts';
import { deleteCatalogTask, insertCatalogTask } from '../store/catalog-tasks.ts';

// A creation that has not written its session by then never will: no call lasts longer than 30 s.
const GIVEN_UP_MS = 60_000;

/**
 * Counts the redemptions of a new session's coupons and codes at the catalog, which refuses those that are used up. A task noted beforehand
 * gives back what stays counted for a session that is never written. False when there is nothing to count: a coupon given inline has no
 * limits.
 */
export async function reserveRedemptions(
  { database, catalog }: Pick<Resources, 'database' | 'catalog'>,
  call: Call,
  session: Session,
  given: readonly CartDiscount[],
  at: Date,
): Promise<boolean> {
  const { scope } = call;
  const counted = session.discounts.filter((_discount, i) => given[i]?.source.case !== 'couponData');
  if (counted.length === 0) return false;
  await withTx(database, scope, (tx) =>
    insertCatalogTask(tx, scope, session.id, 'release_unless_written', GIVEN_UP_MS),
  );
  await catalog.reserveRedemption(
    {
      sessionId: session.id,
      couponIds: [...new Set(counted.map((discount) => discount.couponId))],
      promoCodeIds: [...new Set(counted.flatMap(({ promoCodeId }) => (promoCodeId === null ? [] : [promoCodeId])))],
      atMs: BigInt(at.getTime()),
      // One that another session has used up since the cart was resolved is reported like one that was used up before.
      bodyPath: ['body', 'checkout_session'],
      ...(session.customerId === null ? {} : { customerId: session.customerId }),
    },
    call,
  );
  return true;
}

/** In the transaction that writes the session: from now on its end settles the redemptions. */
export async function forgetReservation(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await deleteCatalogTask(tx, scope, sessionId, 'release_unless_written');
}
