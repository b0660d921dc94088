import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Loc } from '../domain/field-rules.ts';
import { newProductFields, type Product, type ProductInput } from '../domain/product.ts';
import { insertProduct } from '../store/products.ts';
import { checkComponents } from './check-components.ts';

/** Makes a product within a transaction: by itself, with a price (product_data), or for a cart line, where it stays pending. */
export async function makeProduct(
  tx: Tx,
  scope: Scope,
  input: ProductInput,
  made: { readonly loc: Loc; readonly at: Date; readonly productId?: string; readonly pending?: boolean },
): Promise<Product> {
  const { loc, at, productId = newId('product'), pending = false } = made;
  const fields = newProductFields(input, loc);
  await checkComponents(tx, scope, fields.componentIds, [...loc, 'components']);
  const product: Product = { ...fields, active: fields.active && !pending, productId, createdAt: at, updatedAt: at };
  await insertProduct(tx, scope, product, pending);
  return product;
}
