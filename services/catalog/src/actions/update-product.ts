import { append } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Tx, withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import { changedProductFields, type Product, type ProductChange } from '../domain/product.ts';
import { productMessage } from '../messages/records.ts';
import { lockProduct, updateProduct as update } from '../store/products.ts';
import { leaveManyPrices } from '../store/propagating-products.ts';
import { checkComponents } from './check-components.ts';

/**
 * Changes what is supplied. Archiving hides all prices of the product at once, and a new class applies to all of them at once. If the product has over 100
 * prices, a job updates their copies later, and reads ask the product until then (decisions 14.341).
 */
export function updateProduct(
  { database, clock }: Context,
  { scope }: Asker,
  id: string,
  change: ProductChange,
  clear: readonly string[],
): Promise<Product> {
  const work = async (tx: Tx) => {
    const product = await lockProduct(tx, scope, id);
    if (product === undefined) throw new Failure('product_not_found');
    const fields = changedProductFields(product, change, clear, ['body', 'product']);
    if (change.componentIds !== undefined) {
      await checkComponents(tx, scope, fields.componentIds, ['body', 'product', 'components']);
    }
    const updated: Product = { ...product, ...fields, updatedAt: clock.now() };
    if (updated.active !== product.active || updated.hsaFsaEligibility !== product.hsaFsaEligibility) {
      await leaveManyPrices(tx, scope, id);
    }
    await update(tx, scope, id, fields, updated.updatedAt);
    await append(tx, {
      type: 'product.updated',
      aggregateId: id,
      accountId: scope.accountId,
      testMode: scope.testMode,
      object: { case: 'product', value: productMessage(updated, scope.testMode) },
    });
    return updated;
  };
  // Its prices are locked in no fixed order, as prices that swap keys are (update-price.ts): one of two that wait for each other begins again.
  return withTx(database, scope, work, { retrySerialization: 3 });
}
