import { Failure } from '@eligo/failures';
import type { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { given } from '@eligo/values';
import { createProduct } from '../actions/create-product.ts';
import { updateProduct } from '../actions/update-product.ts';
import type { Context } from '../context.ts';
import { productMessage } from '../messages/records.ts';
import { findProduct, findProducts, listProducts } from '../store/products.ts';
import { productInputOf } from './inputs.ts';
import { pageRequestOf } from './page-request.ts';

export function productHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createProduct({ product }, call) {
      return productMessage(await createProduct(context, call, productInputOf(product)), call.scope.testMode);
    },
    async getProduct({ id }, { scope }) {
      const product = await findProduct(context.database, scope, id);
      if (product === undefined) throw new Failure('product_not_found');
      return productMessage(product, scope.testMode);
    },
    async batchGetProducts({ ids }, { scope }) {
      const products = ids.length === 0 ? [] : await findProducts(context.database, scope, ids);
      return { products: products.map((product) => productMessage(product, scope.testMode)), hasMore: false };
    },
    async listProducts({ page, active, clientReferenceId, metadata }, { scope }) {
      const filter = { active, clientReferenceId, metadata };
      const { rows, hasMore } = await listProducts(context.database, scope, pageRequestOf(page), filter);
      return { products: rows.map((product) => productMessage(product, scope.testMode)), hasMore };
    },
    async updateProduct(request, call) {
      const change = given({
        name: request.name,
        description: request.description,
        upcCode: request.upcCode,
        gtin: request.gtin,
        referenceGtin: request.referenceGtin,
        url: request.url,
        clientReferenceId: request.clientReferenceId,
        imageUrls: request.imageUrls?.values,
        categories: request.categories?.values,
        componentIds: request.components?.values,
        hsaFsaEligibility: request.hsaFsaEligibility,
        visitType: request.visitType,
        active: request.active,
        metadata: request.metadata?.entries,
      });
      return productMessage(await updateProduct(context, call, request.id, change, request.clear), call.scope.testMode);
    },
  };
}
