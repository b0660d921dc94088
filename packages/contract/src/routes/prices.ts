import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { amount, eligibilityClass, metadata, recurring, reference, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, listQuery, metadataFilter, queryList, queryReference } from '../query.ts';
import { defineRoute, type Method } from '../route.ts';
import { productData } from './products.ts';

const expansion = expansionOfRecord('price');
/** An empty one is none: a storefront sends it for a product without a code of its own. */
const lookupKey = text(limits.shortTextLength);

const creation = z
  .object({
    lookup_key: lookupKey.optional(),
    transfer_lookup_key: z.boolean().optional(),
    description: text().optional(),
    unit_amount: amount,
    recurring: recurring.optional(),
    metadata: metadata.optional(),
    product: reference('product').optional(),
    product_data: productData.optional(),
    hsa_fsa_eligibility: eligibilityClass.optional(),
    active: z.boolean().optional(),
  })
  .refine((price) => (price.product === undefined) !== (price.product_data === undefined), {
    path: ['product'],
    error: 'Supply either product or product_data',
    params: { type: 'one_of_required' },
  });

/** Amounts are immutable (decisions 5); what a fetched price carries besides is ignored. */
const change = z.object({
  active: z.boolean().optional(),
  description: text().optional(),
  metadata: metadata.optional(),
  lookup_key: lookupKey.optional(),
  transfer_lookup_key: z.boolean().optional(),
  hsa_fsa_eligibility: eligibilityClass.optional(),
  clear: z
    .array(z.enum(['description', 'metadata', 'lookup_key', 'hsa_fsa_eligibility']))
    .max(10)
    .optional(),
});

export const priceRoutes = {
  list: defineRoute({
    id: 'prices.list',
    summary: 'List prices, newest first',
    method: 'GET',
    path: '/v1/prices',
    scope: 'prices_read',
    owner: 'catalog',
    query: listQuery('price', {
      active: boolean.optional(),
      product: queryReference('product').optional(),
      lookup_keys: queryList(z.string().max(limits.shortTextLength), limits.lookupKeys).optional(),
      metadata: metadataFilter.optional(),
    }),
    response: listOf('price'),
    expansion,
    violations: ['product_not_found'],
  }),
  create: defineRoute({
    id: 'prices.create',
    summary: 'Create a price, with its product if need be',
    method: 'POST',
    path: '/v1/prices',
    scope: 'prices_write',
    owner: 'catalog',
    body: { envelope: 'price', schema: creation },
    response: oneOf('price'),
    expansion,
    errors: ['lookup_key_in_use'],
    violations: ['product_not_found', 'product_component_not_found'],
  }),
  get: defineRoute({
    id: 'prices.get',
    summary: 'Read a price, also of another account of the same organization',
    method: 'GET',
    path: '/v1/prices/{id}',
    params: { id: 'price' },
    scope: 'prices_read',
    owner: 'catalog',
    response: oneOf('price'),
    expansion,
  }),
  update: updateBy('PATCH', 'prices.update'),
  updateByPost: updateBy('POST', 'prices.update_by_post'),
};

function updateBy(method: Method, id: string) {
  return defineRoute({
    id,
    summary: 'Update a price',
    method,
    path: '/v1/prices/{id}',
    params: { id: 'price' },
    scope: 'prices_write',
    owner: 'catalog',
    body: { envelope: 'price', schema: change },
    response: oneOf('price'),
    expansion,
    errors: ['lookup_key_in_use'],
  });
}
