import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { namedInBody } from '../body-references.ts';
import { listOf, metadataOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

type ProductFields = NonNullable<(typeof routes.products.create)['body']>['schema']['_output'];
type ProductChange = NonNullable<(typeof routes.products.update)['body']>['schema']['_output'];

export function productBindings({ catalog }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update, updateByBody } = routes.products;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const filters = given({ active: query.active, clientReferenceId: query.client_reference_id });
      const message = { page: pageOf(query), metadata: query.metadata ?? {}, ...filters };
      const page = await catalog.listProducts(message, call);
      return answers.list(request, 'product', page.products, page.hasMore);
    }),
    bind(create, async (request) => {
      const message = { product: productData(request.body) };
      return answers.one(request, 'product', await catalog.createProduct(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'product', await catalog.getProduct({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const message = { id: request.id, ...changeOf(request.body) };
      return answers.one(request, 'product', await catalog.updateProduct(message, request.call));
    }),
    bind(updateByBody, async (request) => {
      const { product_id: id } = request.body;
      const updated = catalog.updateProduct({ id, ...changeOf(request.body) }, request.call);
      const named = { code: 'product_not_found', loc: ['product', 'product_id'], id } as const;
      return answers.one(request, 'product', await namedInBody(updated, named));
    }),
  ];
}

/** A product as it is created, also inline in a price or a session line. */
export function productData(product: ProductFields) {
  return {
    ...scalars(product),
    imageUrls: product.image_urls ?? [],
    categories: product.categories ?? [],
    components: product.components ?? [],
    metadata: product.metadata ?? {},
  };
}

function changeOf(change: ProductChange) {
  return {
    ...scalars(change),
    ...given({
      imageUrls: listOf(change.image_urls),
      categories: listOf(change.categories),
      components: listOf(change.components),
      metadata: metadataOf(change.metadata),
    }),
    clear: change.clear ?? [],
  };
}

function scalars(product: ProductFields | ProductChange) {
  return given({
    name: product.name,
    description: product.description,
    upcCode: product.upc_code,
    gtin: product.gtin,
    referenceGtin: product.reference_gtin,
    url: product.url,
    clientReferenceId: product.client_reference_id,
    hsaFsaEligibility: product.hsa_fsa_eligibility,
    visitType: product.visit_type,
    active: product.active,
  });
}
