import { z } from 'zod';
import { listOf, oneOf } from '../answers.ts';
import { decimal, metadata, requiredText, text } from '../fields.ts';
import { limits } from '../limits.ts';
import { listQuery, queryText } from '../query.ts';
import { nutritionSchema } from '../resources/product-component.ts';
import { defineRoute } from '../route.ts';

const params = { id: 'product_component' } as const;

const nutrients = nutritionSchema.keyof().options;

const nutrition = z.object({
  calories: decimal.optional(),
  total_fat_g: decimal.optional(),
  saturated_fat_g: decimal.optional(),
  trans_fat_g: decimal.optional(),
  carbohydrate_g: decimal.optional(),
  fiber_g: decimal.optional(),
  protein_g: decimal.optional(),
  sodium_mg: decimal.optional(),
  added_sugar_g: decimal.optional(),
});

const mutable = {
  category: requiredText(limits.shortTextLength).optional(),
  nutrition_basis: z.enum(['per_100g', 'as_served']).optional(),
  serving_size_g: z.number().gt(0).max(limits.decimal).optional(),
  nutrition: nutrition.optional(),
  vegan: z.boolean().optional(),
  gluten_free: z.boolean().optional(),
  canonical_food_key: text(limits.shortTextLength).optional(),
  client_reference_id: requiredText(limits.shortTextLength).optional(),
  metadata: metadata.optional(),
};

export const productComponentRoutes = {
  list: defineRoute({
    id: 'product_components.list',
    summary: 'List product components, newest first',
    method: 'GET',
    path: '/v1/product_components',
    scope: 'product_components_read',
    owner: 'catalog',
    query: listQuery('component_nutrition', { client_reference_id: queryText.optional() }),
    response: listOf('product_component'),
  }),
  create: defineRoute({
    id: 'product_components.create',
    summary: 'Register a product component with its nutrition',
    method: 'POST',
    path: '/v1/product_components',
    scope: 'product_components_write',
    owner: 'catalog',
    body: {
      envelope: 'product_component',
      schema: z
        .object({ name: requiredText(limits.shortTextLength), ...mutable })
        .refine((component) => component.nutrition_basis !== 'as_served' || component.serving_size_g !== undefined, {
          path: ['serving_size_g'],
          error: 'Required with nutrition_basis as_served',
          params: { type: 'missing' },
        }),
    },
    response: oneOf('product_component'),
    errors: ['component_already_registered', 'client_reference_id_in_use'],
  }),
  get: defineRoute({
    id: 'product_components.get',
    summary: 'Read a product component',
    method: 'GET',
    path: '/v1/product_components/{id}',
    params,
    scope: 'product_components_read',
    owner: 'catalog',
    response: oneOf('product_component'),
  }),
  /** Only what is supplied changes; a name in `clear` resets that field (decisions 5). */
  update: defineRoute({
    id: 'product_components.update',
    summary: 'Update a product component',
    method: 'PATCH',
    path: '/v1/product_components/{id}',
    params,
    scope: 'product_components_write',
    owner: 'catalog',
    body: {
      envelope: 'product_component',
      schema: z.object({
        ...mutable,
        clear: z
          .array(
            z.enum([
              'category',
              'serving_size_g',
              'nutrition',
              'vegan',
              'gluten_free',
              'canonical_food_key',
              'client_reference_id',
              'metadata',
              ...nutrients.map((name) => `nutrition.${name}` as const),
            ]),
          )
          .max(40)
          .optional(),
      }),
    },
    response: oneOf('product_component'),
    errors: ['client_reference_id_in_use'],
  }),
};
