import { Failure } from '@eligo/failures';
import { isUniqueViolation, type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { newPriceFields, type Price, type PriceInput } from '../domain/price.ts';
import type { Product, ProductInput } from '../domain/product.ts';
import { badReference } from '../domain/reference.ts';
import { insertPrice, lockLookupKey, takeLookupKey } from '../store/prices.ts';
import { holdProduct } from '../store/products.ts';
import { makeProduct } from './make-product.ts';

/** Whose price it is: an existing product's, or that of one made with it. */
export type PriceOwner = { readonly productId: string } | { readonly productData: ProductInput };

/** Makes a price, and with `product_data` its product, both or neither. */
export async function createPrice(
  { database, clock }: Context,
  { scope }: Asker,
  input: PriceInput,
  owner: PriceOwner,
  transferLookupKey: boolean,
): Promise<Price> {
  const fields = newPriceFields(input, ['body', 'price']);
  const at = clock.now();
  return refusingTakenKey(() =>
    withTx(
      database,
      scope,
      async (tx) => {
        const product = await ownerOf(tx, scope, owner, at);
        const priceId = newId('price');
        if (fields.lookupKey !== null) {
          await claimLookupKey(tx, scope, fields.lookupKey, {
            priceId,
            productId: product.productId,
            transfer: transferLookupKey,
            at,
          });
        }
        return insertPrice(tx, scope, fields, { priceId, product, pending: false, inline: false, at });
      },
      // It may be in the circle of prices that swap keys (update-price.ts).
      { retrySerialization: 3 },
    ),
  );
}

/**
 * Makes a lookup key free for a price: it moves from a price of the same product, and from any other with `transfer_lookup_key` (decisions
 * 13). Held elsewhere it stays where it is, and the unique index refuses the claim. Claims of one key follow each other.
 */
export async function claimLookupKey(
  tx: Tx,
  scope: Scope,
  lookupKey: string,
  claim: { readonly priceId: string; readonly productId: string; readonly transfer: boolean; readonly at: Date },
): Promise<void> {
  await lockLookupKey(tx, scope, lookupKey);
  await takeLookupKey(tx, scope, lookupKey, {
    otherThan: claim.priceId,
    productId: claim.productId,
    anyProduct: claim.transfer,
    at: claim.at,
  });
}

/** Runs a write and turns the unique index's word into the refusal. */
export async function refusingTakenKey<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'prices_lookup_key')) throw new Failure('lookup_key_in_use', { cause: error });
    throw error;
  }
}

async function ownerOf(tx: Tx, scope: Scope, owner: PriceOwner, at: Date): Promise<Product> {
  if ('productData' in owner) {
    return makeProduct(tx, scope, owner.productData, { loc: ['body', 'price', 'product_data'], at });
  }
  const product = await holdProduct(tx, scope, owner.productId);
  if (product === undefined) throw badReference(['body', 'price', 'product'], 'product_not_found', owner.productId);
  return product;
}
