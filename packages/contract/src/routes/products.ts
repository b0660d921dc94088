import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { eligibilityClass, metadata, reference, requiredText, text, url } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, listQuery, metadataFilter, queryText } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'product' } as const;

const shortText = text(limits.shortTextLength);

/** The fields of a product as partners write them, also inline in a price or a session line. */
const productFields = {
  name: text().optional(),
  description: text().optional(),
  upc_code: text(100).optional(),
  gtin: text(100).optional(),
  reference_gtin: text(100).optional(),
  url: url.optional(),
  client_reference_id: shortText.optional(),
  image_urls: z.array(url).max(100).optional(),
  categories: z.array(shortText).max(100).optional(),
  components: z.array(reference('product_component')).max(100).optional(),
  hsa_fsa_eligibility: eligibilityClass.optional(),
  visit_type: shortText.optional(),
  active: z.boolean().optional(),
  metadata: metadata.optional(),
};

export const productData = z.object({ ...productFields, name: requiredText() });

const clearable = z.enum([
  'description',
  'upc_code',
  'gtin',
  'reference_gtin',
  'url',
  'client_reference_id',
  'image_urls',
  'categories',
  'components',
  'hsa_fsa_eligibility',
  'visit_type',
  'metadata',
]);

const change = { ...productFields, name: requiredText().optional(), clear: z.array(clearable).max(20).optional() };

export const productRoutes = {
  list: defineRoute({
    id: 'products.list',
    summary: 'List products, newest first',
    method: 'GET',
    path: '/v1/products',
    scope: 'products_read',
    owner: 'catalog',
    query: listQuery('product', {
      active: boolean.optional(),
      client_reference_id: queryText.optional(),
      metadata: metadataFilter.optional(),
    }),
    response: listOf('product'),
  }),
  create: defineRoute({
    id: 'products.create',
    summary: 'Create a product',
    method: 'POST',
    path: '/v1/products',
    scope: 'products_write',
    owner: 'catalog',
    body: { envelope: 'product', schema: productData },
    response: oneOf('product'),
    violations: ['product_component_not_found'],
  }),
  updateByBody: defineRoute({
    id: 'products.update_by_body',
    summary: 'Update the product that the body names',
    method: 'PATCH',
    path: '/v1/products',
    scope: 'products_write',
    owner: 'catalog',
    body: { envelope: 'product', schema: z.object({ product_id: reference('product'), ...change }) },
    response: oneOf('product'),
    violations: ['product_not_found', 'product_component_not_found'],
  }),
  get: defineRoute({
    id: 'products.get',
    summary: 'Read a product',
    method: 'GET',
    path: '/v1/products/{id}',
    params,
    scope: 'products_read',
    owner: 'catalog',
    response: oneOf('product'),
  }),
  update: defineRoute({
    id: 'products.update',
    summary: 'Update a product',
    method: 'PATCH',
    path: '/v1/products/{id}',
    params,
    scope: 'products_write',
    owner: 'catalog',
    body: { envelope: 'product', schema: z.object(change) },
    response: oneOf('product'),
    violations: ['product_component_not_found'],
  }),
};
