import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { amount, metadata, requiredText } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, listQuery } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'shipping_rate' } as const;

export const shippingRateRoutes = {
  list: defineRoute({
    id: 'shipping_rates.list',
    summary: 'List shipping rates, newest first',
    method: 'GET',
    path: '/v1/shipping_rates',
    scope: 'shipping_rates_read',
    owner: 'catalog',
    query: listQuery('shipping_rate', { active: boolean.optional() }),
    response: listOf('shipping_rate'),
  }),
  create: defineRoute({
    id: 'shipping_rates.create',
    summary: 'Create a shipping rate',
    method: 'POST',
    path: '/v1/shipping_rates',
    scope: 'shipping_rates_write',
    owner: 'catalog',
    body: {
      envelope: 'shipping_rate',
      schema: z.object({
        display_name: requiredText(limits.shortTextLength),
        amount,
        metadata: metadata.optional(),
      }),
    },
    response: oneOf('shipping_rate'),
  }),
  get: defineRoute({
    id: 'shipping_rates.get',
    summary: 'Read a shipping rate',
    method: 'GET',
    path: '/v1/shipping_rates/{id}',
    params,
    scope: 'shipping_rates_read',
    owner: 'catalog',
    response: oneOf('shipping_rate'),
  }),
  /** Both fields are overwritten; omitted metadata clears it (interface, Shipping rates). */
  update: defineRoute({
    id: 'shipping_rates.update',
    summary: 'Archive or restore a shipping rate and overwrite its metadata',
    method: 'PUT',
    path: '/v1/shipping_rates/{id}',
    params,
    scope: 'shipping_rates_write',
    owner: 'catalog',
    body: {
      envelope: 'shipping_rate',
      schema: z.object({ active: z.boolean().optional(), metadata: metadata.optional() }),
    },
    response: oneOf('shipping_rate'),
  }),
};
