import { z } from 'zod';
import { amount, quantity, reference, requiredText } from '../fields.ts';
import { limits } from '../limits.ts';
import { evaluatedItemSchema } from '../resources/eligibility.ts';
import { defineRoute } from '../route.ts';

const item = z
  .object({
    product: reference('product').optional(),
    price: reference('price').optional(),
    upc_code: requiredText(100).optional(),
    gtin: requiredText(100).optional(),
    quantity: quantity.optional(),
    unit_amount: amount.optional(),
  })
  .refine((asked) => [asked.product, asked.price, asked.upc_code, asked.gtin].some((name) => name !== undefined), {
    error: 'Supply product, price, upc_code or gtin',
    params: { type: 'one_of_required' },
  });

export const eligibilityRoutes = {
  evaluate: defineRoute({
    id: 'eligibility.evaluate',
    summary: 'Evaluate the eligibility of items without a session',
    method: 'POST',
    path: '/v1/eligibility',
    scope: 'eligibility_read',
    owner: 'catalog',
    body: { envelope: null, schema: z.object({ items: z.array(item).min(1).max(limits.eligibilityItems) }) },
    response: z.strictObject({ items: z.array(evaluatedItemSchema) }),
    violations: ['product_not_found', 'price_not_found'],
  }),
};
