import { Failure } from '@eligo/failures';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { given } from '@eligo/values';
import { createPrice } from '../actions/create-price.ts';
import { readPrice } from '../actions/read-price.ts';
import { updatePrice } from '../actions/update-price.ts';
import type { Context } from '../context.ts';
import { priceMessage } from '../messages/records.ts';
import { listPrices } from '../store/price-list.ts';
import { findPrices } from '../store/prices.ts';
import { findProducts } from '../store/products.ts';
import { productInputOf, recurringInputOf } from './inputs.ts';
import { pageRequestOf } from './page-request.ts';

export function priceHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createPrice(request, call) {
      const { owner } = request;
      if (owner.case === undefined) {
        throw Failure.invalid(['body', 'price', 'product'], 'missing', 'Send product or product_data');
      }
      const input = {
        description: request.description ?? null,
        unitAmountCents: request.unitAmountCents,
        recurring: recurringInputOf(request.recurring),
        active: request.active ?? true,
        lookupKey: request.lookupKey ?? null,
        hsaFsaEligibility: request.hsaFsaEligibility ?? null,
        metadata: request.metadata,
      };
      const of = owner.case === 'productId' ? { productId: owner.value } : { productData: productInputOf(owner.value) };
      const price = await createPrice(context, call, input, of, request.transferLookupKey);
      return priceMessage(price, call.scope.testMode);
    },
    async getPrice({ id, expandProduct }, call) {
      const { price, product } = await readPrice(context, call, id, expandProduct);
      return priceMessage(price, call.scope.testMode, product);
    },
    async batchGetPrices({ ids }, { scope }) {
      const prices = ids.length === 0 ? [] : await findPrices(context.database, scope, ids);
      return { prices: prices.map((price) => priceMessage(price, scope.testMode)), hasMore: false };
    },
    async listPrices({ page, active, productId, lookupKeys, metadata, expandProduct }, { scope }) {
      const filter = { active: active ?? true, productId, lookupKeys, metadata };
      const { rows, hasMore } = await listPrices(context.database, scope, pageRequestOf(page), filter);
      const productIds = expandProduct ? [...new Set(rows.map((price) => price.productId))] : [];
      const products = productIds.length === 0 ? [] : await findProducts(context.database, scope, productIds);
      const byId = new Map(products.map((product) => [product.productId, product]));
      return { prices: rows.map((price) => priceMessage(price, scope.testMode, byId.get(price.productId))), hasMore };
    },
    async updatePrice(request, call) {
      const change = given({
        active: request.active,
        description: request.description,
        lookupKey: request.lookupKey,
        hsaFsaEligibility: request.hsaFsaEligibility,
        metadata: request.metadata?.entries,
      });
      const price = await updatePrice(context, call, request.id, change, request.clear, request.transferLookupKey);
      return priceMessage(price, call.scope.testMode);
    },
  };
}
