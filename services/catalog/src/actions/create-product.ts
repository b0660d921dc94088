import { withTx } from '@eligo/postgres';
import type { Product, ProductInput } from '../domain/product.ts';
import { makeProduct } from './make-product.ts';
import type { Asker, Work } from './work.ts';

export function createProduct({ database, clock }: Work, { scope }: Asker, input: ProductInput): Promise<Product> {
  return withTx(database, scope, (tx) => makeProduct(tx, scope, input, { loc: ['body', 'product'], at: clock.now() }));
}
