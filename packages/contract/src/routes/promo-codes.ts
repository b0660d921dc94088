import { z } from 'zod';
import { expansionOfRecord, listOf, oneOf } from '../answers.ts';
import { count, metadata, reference, requiredText, time } from '../fields.ts';
import { limits } from '../limits.ts';
import { boolean, listQuery, queryReference, queryText } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'promo_code' } as const;
const expansion = expansionOfRecord('promo_code');

export const promoCodeRoutes = {
  list: defineRoute({
    id: 'promo_codes.list',
    summary: 'List promo codes, newest first',
    method: 'GET',
    path: '/v1/promo_codes',
    scope: 'promo_codes_read',
    owner: 'catalog',
    query: listQuery('promo_code', {
      code: queryText.optional(),
      coupon: queryReference('coupon').optional(),
      customer: queryReference('customer').optional(),
      active: boolean.optional(),
    }),
    response: listOf('promo_code'),
    expansion,
    violations: ['coupon_not_found', 'customer_not_found'],
  }),
  create: defineRoute({
    id: 'promo_codes.create',
    summary: 'Create a promo code for a coupon',
    method: 'POST',
    path: '/v1/promo_codes',
    scope: 'promo_codes_write',
    owner: 'catalog',
    body: {
      envelope: 'promo_code',
      schema: z
        .object({
          coupon_id: reference('coupon').optional(),
          coupon: reference('coupon').optional(),
          code: requiredText(limits.shortTextLength),
          customer: reference('customer').optional(),
          max_redemptions: count(2_147_483_647).optional(),
          expires_at: time.optional(),
          active: z.boolean().optional(),
          metadata: metadata.optional(),
        })
        .refine((code) => code.coupon_id !== undefined || code.coupon !== undefined, {
          path: ['coupon_id'],
          error: 'Field required',
          params: { type: 'missing' },
        }),
    },
    response: oneOf('promo_code'),
    expansion,
    errors: ['promo_code_in_use'],
    violations: ['coupon_not_found', 'customer_not_found'],
  }),
  get: defineRoute({
    id: 'promo_codes.get',
    summary: 'Read a promo code',
    method: 'GET',
    path: '/v1/promo_codes/{id}',
    params,
    scope: 'promo_codes_read',
    owner: 'catalog',
    response: oneOf('promo_code'),
    expansion,
  }),
  update: defineRoute({
    id: 'promo_codes.update',
    summary: 'Update a promo code',
    method: 'PATCH',
    path: '/v1/promo_codes/{id}',
    params,
    scope: 'promo_codes_write',
    owner: 'catalog',
    body: {
      envelope: 'promo_code',
      schema: z.object({ active: z.boolean().optional(), metadata: metadata.optional() }),
    },
    response: oneOf('promo_code'),
    expansion,
    errors: ['promo_code_in_use'],
  }),
};
