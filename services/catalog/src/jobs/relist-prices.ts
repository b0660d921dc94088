import type { Job } from '@eligo/service';
import { relistBatch, relistPricesJob } from '../actions/relist-prices.ts';
import type { Context } from '../context.ts';
import { findRelistings } from '../store/relistings.ts';

// One batch of each in turn, so that a product of a million prices makes no other wait.
const PRODUCTS = 20;

/** Lists the prices of products that were archived or put up for sale again as their products are. The commit of the change wakes it. */
export function relistPrices({ database }: Pick<Context, 'database'>): Job {
  return {
    name: relistPricesJob,
    everyMs: 60_000,
    async run(signal) {
      const relistings = await findRelistings(database, PRODUCTS);
      let hasMore = relistings.length === PRODUCTS;
      for (const relisting of relistings) {
        if (signal.aborted) return false;
        if (await relistBatch({ database }, relisting)) hasMore = true;
      }
      return hasMore;
    },
  };
}
