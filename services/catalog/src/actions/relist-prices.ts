import { withTx } from '@eligo/postgres';
import { declareFailpoints, failpoint } from '@eligo/service';
import type { Context } from '../context.ts';
import { holdProduct } from '../store/products.ts';
import {
  claimRelisting,
  endRelisting,
  hasListedPrice,
  hideListedPrices,
  moveRelisting,
  type Relisting,
  relistHiddenPrices,
} from '../store/relistings.ts';

export const relistPricesJob = 'relist-prices';

// A change of the product waits for a batch: some 100 ms on a busy machine of two cores.
const BATCH = 500;

declareFailpoints(['relist.before_commit']);

/**
 * Lists a batch of a product's prices as the product is now. A product that changes again meanwhile waits for the batch, and begins from the
 * first price. Resolves with whether there is more.
 */
export function relistBatch({ database }: Pick<Context, 'database'>, relisting: Relisting): Promise<boolean> {
  const { accountId, testMode, productId } = relisting;
  const scope = { accountId, testMode };
  return withTx(
    database,
    scope,
    async (tx) => {
      // The product before the relisting, as its update takes them.
      const product = await holdProduct(tx, scope, productId);
      const after = await claimRelisting(tx, scope, productId);
      if (product === undefined || after === undefined) return false;
      const isActive = product.active;
      const hidden = isActive ? 0 : await hideListedPrices(tx, scope, productId, BATCH);
      await failpoint('relist.before_commit');
      if (hidden > 0) return true;
      const ids = await relistHiddenPrices(tx, scope, { productId, after, isActive, most: BATCH });
      const last = ids.at(-1);
      if (last !== undefined && ids.length === BATCH) {
        await moveRelisting(tx, scope, productId, last);
        return true;
      }
      // A session can have put one of them up for sale before it was looked at.
      if (!isActive && (await hasListedPrice(tx, scope, productId))) return true;
      await endRelisting(tx, scope, productId);
      return false;
    },
    // It can meet a circle of prices that swap keys (update-price.ts).
    { retrySerialization: 3 },
  );
}
