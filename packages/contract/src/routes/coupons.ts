import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { count, metadata, reference, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery } from '../query.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'coupon' } as const;

export const appliesTo = z.object({
  products: z.array(reference('product')).max(1_000).optional(),
  prices: z.array(reference('price')).max(1_000).optional(),
});

/** A whole percent, more than 0 and at most 100, with at most two decimals (decisions 4). */
export const percentOff = z
  .number()
  .gt(0)
  .max(100)
  .refine((percent) => /^\d+(\.\d{1,2})?$/.test(String(percent)), {
    error: 'Must have at most two decimals',
    params: { type: 'too_precise' },
  });

/** A reduction takes off an amount or a percentage. */
export const reduction = {
  name: text(limits.shortTextLength).optional(),
  amount_off: z.int().min(1).max(limits.amountCents).optional(),
  percent_off: percentOff.optional(),
  applies_to: appliesTo.optional(),
};

export const oneReduction = {
  path: ['amount_off'],
  error: 'Supply either amount_off or percent_off',
  params: { type: 'one_of_required' },
};

export function hasOneReduction(given: { amount_off?: unknown; percent_off?: unknown }): boolean {
  return (given.amount_off === undefined) !== (given.percent_off === undefined);
}

export const couponRoutes = {
  list: defineRoute({
    id: 'coupons.list',
    summary: 'List coupons, newest first',
    method: 'GET',
    path: '/v1/coupons',
    scope: 'coupons_read',
    owner: 'catalog',
    query: listQuery('coupon', {}),
    response: listOf('coupon'),
  }),
  create: defineRoute({
    id: 'coupons.create',
    summary: 'Create a coupon',
    method: 'POST',
    path: '/v1/coupons',
    scope: 'coupons_write',
    owner: 'catalog',
    body: {
      envelope: 'coupon',
      schema: z
        .object({
          ...reduction,
          duration: z.enum(['once', 'repeating', 'forever']).optional(),
          duration_in_months: count(1_200).optional(),
          max_redemptions: count(2_147_483_647).optional(),
          metadata: metadata.optional(),
        })
        .refine(hasOneReduction, oneReduction)
        .refine((coupon) => (coupon.duration === 'repeating') === (coupon.duration_in_months !== undefined), {
          path: ['duration_in_months'],
          error: 'Required with duration repeating; otherwise leave it out',
          params: { type: 'invalid_combination' },
        }),
    },
    response: oneOf('coupon'),
    violations: ['product_not_found', 'price_not_found'],
  }),
  get: defineRoute({
    id: 'coupons.get',
    summary: 'Read a coupon',
    method: 'GET',
    path: '/v1/coupons/{id}',
    params,
    scope: 'coupons_read',
    owner: 'catalog',
    response: oneOf('coupon'),
  }),
  delete: defineRoute({
    id: 'coupons.delete',
    summary: 'Delete a coupon, which stops new redemptions',
    method: 'DELETE',
    path: '/v1/coupons/{id}',
    params,
    scope: 'coupons_write',
    owner: 'catalog',
    response: oneOf('coupon'),
  }),
};
