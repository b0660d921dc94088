import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Product, ProductInput } from '../domain/product.ts';
import { makeProduct } from './make-product.ts';

export function createProduct({ database, clock }: Context, { scope }: Asker, input: ProductInput): Promise<Product> {
  return withTx(database, scope, (tx) => makeProduct(tx, scope, input, { loc: ['body', 'product'], at: clock.now() }));
}
