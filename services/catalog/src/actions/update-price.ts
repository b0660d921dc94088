import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import { changedPriceFields, type Price, type PriceChange } from '../domain/price.ts';
import { lockPrice, updatePrice as update } from '../store/prices.ts';
import { claimLookupKey, refusingTakenKey } from './create-price.ts';

/** Changes what of a price may change; its amount, recurrence and product never do. */
export function updatePrice(
  { database, clock }: Context,
  { scope }: Asker,
  id: string,
  change: PriceChange,
  clear: readonly string[],
  transferLookupKey: boolean,
): Promise<Price> {
  const at = clock.now();
  return refusingTakenKey(() =>
    withTx(
      database,
      scope,
      async (tx) => {
        const price = await lockPrice(tx, scope, id);
        if (price === undefined) throw new Failure('price_not_found');
        const fields = changedPriceFields(price, change, clear, ['body', 'price']);
        if (fields.lookupKey !== null && fields.lookupKey !== price.lookupKey) {
          const { productId } = price;
          await claimLookupKey(tx, scope, fields.lookupKey, {
            priceId: id,
            productId,
            transfer: transferLookupKey,
            at,
          });
        }
        await update(tx, scope, id, fields, at);
        return { ...price, ...fields };
      },
      // Two prices that swap keys wait for each other's rows: one of the two begins again.
      { retrySerialization: 3 },
    ),
  );
}
