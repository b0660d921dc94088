import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { metadataOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

type Create = NonNullable<(typeof routes.productComponents.create)['body']>['schema']['_output'];
type Update = NonNullable<(typeof routes.productComponents.update)['body']>['schema']['_output'];

export function productComponentBindings({ catalog }: Peers, answers: Answers): Binding[] {
  const { list, create, get, update } = routes.productComponents;
  return [
    bind(list, async (request) => {
      const { query, call } = request;
      const message = { page: pageOf(query), ...given({ clientReferenceId: query.client_reference_id }) };
      const page = await catalog.listComponents(message, call);
      return answers.list(request, 'product_component', page.components, page.hasMore);
    }),
    bind(create, async (request) => {
      const { name, metadata = {} } = request.body;
      const message = { name, metadata, ...componentFields(request.body) };
      return answers.one(request, 'product_component', await catalog.createComponent(message, request.call));
    }),
    bind(get, async (request) =>
      answers.one(request, 'product_component', await catalog.getComponent({ id: request.id }, request.call)),
    ),
    bind(update, async (request) => {
      const { metadata, clear = [] } = request.body;
      const change = given({ metadata: metadataOf(metadata) });
      const message = { id: request.id, clear, ...componentFields(request.body), ...change };
      return answers.one(request, 'product_component', await catalog.updateComponent(message, request.call));
    }),
  ];
}

function componentFields(body: Create | Update) {
  return given({
    category: body.category,
    nutritionBasis: body.nutrition_basis,
    servingSizeG: decimal(body.serving_size_g),
    nutrition: body.nutrition === undefined ? undefined : nutritionOf(body.nutrition),
    vegan: body.vegan,
    glutenFree: body.gluten_free,
    canonicalFoodKey: body.canonical_food_key,
    clientReferenceId: body.client_reference_id,
  });
}

function nutritionOf(nutrition: NonNullable<Create['nutrition']>) {
  return given({
    calories: decimal(nutrition.calories),
    totalFatG: decimal(nutrition.total_fat_g),
    saturatedFatG: decimal(nutrition.saturated_fat_g),
    transFatG: decimal(nutrition.trans_fat_g),
    carbohydrateG: decimal(nutrition.carbohydrate_g),
    fiberG: decimal(nutrition.fiber_g),
    proteinG: decimal(nutrition.protein_g),
    sodiumMg: decimal(nutrition.sodium_mg),
    addedSugarG: decimal(nutrition.added_sugar_g),
  });
}

// The number as JavaScript prints it, exactly; the catalog rounds.
function decimal(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}
