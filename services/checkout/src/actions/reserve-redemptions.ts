import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { CartDiscount } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { Session, SessionDiscount } from '../domain/session.ts';
import { deleteCatalogTask, insertCatalogTask } from '../store/catalog-tasks.ts';

// A creation that has not written its session by then never will: no call lasts longer than 30 s.
const GIVEN_UP_MS = 60_000;

/** What is redeemed, and under which id: that of the session, or that of the discount that its shopper entered. */
export interface Reservation {
  readonly reservation: string;
  readonly customerId: string | null;
  readonly counted: readonly Pick<SessionDiscount, 'couponId' | 'promoCodeId'>[];
  /** Where the record stands in the partner's body; empty where there is no body. */
  readonly bodyPath: readonly string[];
  readonly at: Date;
}

/** Counts the redemptions of a new session's coupons and codes. False when there is nothing to count: a coupon given inline has no limits. */
export async function reserveForSession(
  context: Pick<Context, 'database' | 'catalog'>,
  call: Call,
  session: Session,
  given: readonly CartDiscount[],
  at: Date,
): Promise<boolean> {
  const counted = session.discounts.filter((_discount, i) => given[i]?.source.case !== 'couponData');
  if (counted.length === 0) return false;
  const { id: reservation, customerId } = session;
  await reserveRedemptions(context, call, {
    ...{ reservation, customerId, counted, at },
    bodyPath: ['body', 'checkout_session'],
  });
  return true;
}

/**
 * Counts redemptions at the catalog, which refuses coupons and codes that are used up. A task noted beforehand gives back what stays counted for what is never
 * written.
 */
export async function reserveRedemptions(
  { database, catalog }: Pick<Context, 'database' | 'catalog'>,
  call: Call,
  { reservation, customerId, counted, bodyPath, at }: Reservation,
): Promise<void> {
  const { scope } = call;
  await withTx(database, scope, (tx) =>
    insertCatalogTask(tx, scope, reservation, 'release_unless_written', GIVEN_UP_MS),
  );
  await catalog.reserveRedemption(
    {
      sessionId: reservation,
      couponIds: [...new Set(counted.map((discount) => discount.couponId))],
      promoCodeIds: [...new Set(counted.flatMap(({ promoCodeId }) => (promoCodeId === null ? [] : [promoCodeId])))],
      atMs: BigInt(at.getTime()),
      // One that another session has used up since it was resolved is reported like one that was used up before.
      bodyPath: [...bodyPath],
      ...(customerId === null ? {} : { customerId }),
    },
    call,
  );
}

/** In the transaction that writes the session or the discount: from now on its end settles the redemptions. */
export async function forgetReservation(tx: Tx, scope: Scope, reservation: string): Promise<void> {
  await deleteCatalogTask(tx, scope, reservation, 'release_unless_written');
}
