import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Price } from '../domain/price.ts';
import type { Product } from '../domain/product.ts';
import { findPrice, findSiblingPrice } from '../store/prices.ts';
import { findProduct } from '../store/products.ts';
import type { Asker, Work } from './work.ts';

/**
 * A price by its id: the caller's own or, for members of an organization, a sibling account's (interface, GET /v1/prices/{id}), with its
 * product where that is asked for. Nothing else of a sibling can be read.
 */
export async function readPrice(
  { database }: Work,
  { scope, caller }: Asker,
  id: string,
  withProduct: boolean,
): Promise<{ price: Price; product?: Product }> {
  const price = await findPrice(database, scope, id);
  if (price !== undefined) {
    const product = withProduct ? await findProduct(database, scope, price.productId) : undefined;
    return product === undefined ? { price } : { price, product };
  }
  const siblings = caller.siblingAccountIds.filter((accountId) => accountId !== scope.accountId);
  const found =
    siblings.length === 0
      ? undefined
      : await withTx(database, scope, (tx) => findSiblingPrice(tx, scope, siblings, id));
  if (found === undefined) throw new Failure('price_not_found');
  return withProduct ? found : { price: found.price };
}
