import type { Scope, Tx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import { insertCatalogTask } from '../store/catalog-tasks.ts';
import type { GivenCart } from './resolve-cart.ts';

/** Whether the cart makes products, prices or coupons of its own: these are inactive, and removed one day, until the session is written. */
export function hasInlineParts({ lines, discounts }: Pick<GivenCart, 'lines' | 'discounts'>): boolean {
  return (
    lines.some(({ item }) => item.case === 'priceData') || discounts.some(({ source }) => source.case === 'couponData')
  );
}

/** Notes, with the session, that what its cart made is to be activated: it happens even if this process ends right after. */
export async function keepActivation(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await insertCatalogTask(tx, scope, sessionId, 'activate');
}

/** Activates at once, so that the partner reads what it made. Should this fail, the task does it. */
export async function activateInline(
  { catalog, logger }: Pick<Context, 'catalog' | 'logger'>,
  call: Call,
  sessionId: string,
): Promise<void> {
  try {
    await catalog.activateInline({ sessionId }, call);
  } catch (error) {
    logger.warn(
      { err: error, sessionId },
      'Failed to create inline products, prices and coupons; the catalog task will retry',
    );
  }
}
