import { type Scope, withTx } from '@eligo/postgres';
import { declareFailpoints, failpoint } from '@eligo/service';
import type { Context } from '../context.ts';
import { holdProduct } from '../store/products.ts';
import {
  claimPropagation,
  continuePropagation,
  copyState,
  dueProducts,
  endPropagation,
  putOffPropagation,
} from '../store/propagating-products.ts';

declareFailpoints(['propagate.before_commit']);

// So many products of an account have a page each before the next account has its turn.
const productsInTurn = 4;

// Most failures are an outage of seconds.
const pausesMs = [10_000, 60_000, 300_000, 1_800_000] as const;

/**
 * Gives products of an account a turn each. One that fails is put off, and the others go on. Resolves with whether one of them has more prices;
 * those that another process is at are left to it.
 */
export async function propagateProducts(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  signal: AbortSignal,
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  const due = await dueProducts(database, scope, productsInTurn);
  let hasMore = false;
  let isAnyDone = false;
  for (const product of due) {
    if (signal.aborted) return false;
    try {
      const outcome = await propagatePage({ database }, scope, product.productId);
      if (outcome === 'more') hasMore = true;
      if (outcome !== 'taken') isAnyDone = true;
    } catch (error) {
      onFailure(error);
      await withTx(database, scope, (tx) => putOffPropagation(tx, scope, product, pausesMs));
      isAnyDone = true;
    }
  }
  return hasMore || (isAnyDone && due.length === productsInTurn);
}

/**
 * Copies the state of a product to a page of its prices. A change of the product waits for the page, and the next page begins again with the
 * newest price.
 */
export function propagatePage(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  productId: string,
): Promise<'more' | 'done' | 'taken'> {
  return withTx(
    database,
    scope,
    async (tx) => {
      // The product before its row of propagating_products, and both before prices, as its update takes them.
      const product = await holdProduct(tx, scope, productId);
      const propagation = await claimPropagation(tx, scope, productId);
      if (product === undefined || propagation === undefined) return 'taken';
      const first = await copyState(tx, scope, product, propagation);
      if (first === undefined) await endPropagation(tx, scope, productId);
      else await continuePropagation(tx, scope, productId, first);
      await failpoint('propagate.before_commit');
      return first === undefined ? 'done' : 'more';
    },
    // Prices that swap keys are not locked in the order of their ids (update-price.ts).
    { retrySerialization: 3 },
  );
}
