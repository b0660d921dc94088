import { Failure } from '@eligo/failures';
import type { Database, Scope } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Price } from '../domain/price.ts';
import type { Product } from '../domain/product.ts';
import { findOwnerAmong, findPrice } from '../store/prices.ts';
import { findProduct } from '../store/products.ts';

/**
 * A price by its id: the caller's own or, for members of an organization, a sibling account's (interface, GET /v1/prices/{id}), with its
 * product where that is asked for. Nothing else of a sibling can be read.
 */
export async function readPrice(
  { database }: Context,
  { scope, caller }: Asker,
  id: string,
  withProduct: boolean,
): Promise<{ price: Price; product?: Product }> {
  const own = await readIn(database, scope, id, withProduct);
  if (own !== undefined) return own;
  const siblings = caller.siblingAccountIds.filter((accountId) => accountId !== scope.accountId);
  const owner = siblings.length === 0 ? undefined : await findOwnerAmong(database, scope, siblings, id);
  const found =
    owner === undefined
      ? undefined
      : await readIn(database, { accountId: owner, testMode: scope.testMode }, id, withProduct);
  if (found === undefined) throw new Failure('price_not_found');
  return found;
}

async function readIn(
  database: Database,
  scope: Scope,
  id: string,
  withProduct: boolean,
): Promise<{ price: Price; product?: Product } | undefined> {
  const price = await findPrice(database, scope, id);
  if (price === undefined) return undefined;
  const product = withProduct ? await findProduct(database, scope, price.productId) : undefined;
  return product === undefined ? { price } : { price, product };
}
