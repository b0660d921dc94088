import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { metadata, quantity, reference, url } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, listQuery } from '../query.ts';
import { defineRoute } from '../route.ts';
import { customText, setupFutureUse, shippingOptions } from './session-body.ts';

const params = { id: 'payment_link' } as const;
const path = '/v1/payment_links/{id}';
const expansion = expansionOfRecord('payment_link');

const line = z
  .object({
    price: reference('price').optional(),
    product: reference('product').optional(),
    quantity: quantity.optional(),
  })
  .refine(({ price, product }) => price !== undefined || product !== undefined, {
    path: ['price'],
    error: 'Supply price or product',
    params: { type: 'one_of_required' },
  });

export const paymentLinkRoutes = {
  list: defineRoute({
    id: 'payment_links.list',
    summary: 'List payment links, newest first',
    method: 'GET',
    path: '/v1/payment_links',
    scope: 'payment_links_read',
    owner: 'checkout',
    query: listQuery('payment_link', { active: boolean.optional() }),
    response: listOf('payment_link'),
    expansion,
  }),
  create: defineRoute({
    id: 'payment_links.create',
    summary: 'Create a URL that opens a checkout session for each visit',
    method: 'POST',
    path: '/v1/payment_links',
    scope: 'payment_links_write',
    owner: 'checkout',
    body: {
      envelope: 'payment_link',
      schema: z.object({
        line_items: z.array(line).min(1).max(limits.lineItems),
        active: z.boolean().optional(),
        success_url: url.optional(),
        cancel_url: url.optional(),
        setup_future_use: setupFutureUse.optional(),
        shipping_options: shippingOptions.optional(),
        shipping_address_collection: z.boolean().optional(),
        custom_text: customText.optional(),
        metadata: metadata.optional(),
      }),
    },
    response: oneOf('payment_link'),
    expansion,
    idempotency: 'replay',
    violations: ['price_not_found', 'product_not_found', 'shipping_rate_not_found', 'price_required'],
  }),
  get: defineRoute({
    id: 'payment_links.get',
    summary: 'Read a payment link',
    method: 'GET',
    path,
    params,
    scope: 'payment_links_read',
    owner: 'checkout',
    response: oneOf('payment_link'),
    expansion,
  }),
  update: defineRoute({
    id: 'payment_links.update',
    summary: 'Activate or deactivate a payment link, or replace its metadata',
    method: 'PATCH',
    path,
    params,
    scope: 'payment_links_write',
    owner: 'checkout',
    body: {
      envelope: 'payment_link',
      schema: z.object({ active: z.boolean().optional(), metadata: metadata.optional() }),
    },
    response: oneOf('payment_link'),
    expansion,
  }),
};
