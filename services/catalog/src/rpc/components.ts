import { Failure } from '@eligo/failures';
import type { CatalogService, CreateComponentRequest, UpdateComponentRequest } from '@eligo/proto/catalog/v1/catalog';
import type { Implementation } from '@eligo/rpc';
import { given } from '@eligo/values';
import { createComponent } from '../actions/create-component.ts';
import { updateComponent } from '../actions/update-component.ts';
import type { Context } from '../context.ts';
import type { ComponentInput } from '../domain/component.ts';
import { componentMessage } from '../messages/records.ts';
import { findComponent, listComponents } from '../store/components.ts';
import { nutritionInputOf } from './inputs.ts';
import { pageRequestOf } from './page-request.ts';

export function componentHandlers(context: Context): Implementation<typeof CatalogService> {
  return {
    async createComponent(request, call) {
      const input = { ...componentInputOf(request), metadata: request.metadata };
      return componentMessage(await createComponent(context, call, request.name, input), call.scope.testMode);
    },
    async getComponent({ id }, { scope }) {
      const component = await findComponent(context.database, scope, id);
      if (component === undefined) throw new Failure('product_component_not_found');
      return componentMessage(component, scope.testMode);
    },
    async listComponents({ page, clientReferenceId }, { scope }) {
      const { rows, hasMore } = await listComponents(context.database, scope, pageRequestOf(page), clientReferenceId);
      return { components: rows.map((component) => componentMessage(component, scope.testMode)), hasMore };
    },
    async updateComponent(request, call) {
      const input = { ...componentInputOf(request), ...given({ metadata: request.metadata?.entries }) };
      const component = await updateComponent(context, call, request.id, input, request.clear);
      return componentMessage(component, call.scope.testMode);
    },
  };
}

function componentInputOf(request: CreateComponentRequest | UpdateComponentRequest): ComponentInput {
  return {
    ...given({
      category: request.category,
      nutritionBasis: request.nutritionBasis,
      servingSizeG: request.servingSizeG,
      vegan: request.vegan,
      glutenFree: request.glutenFree,
      canonicalFoodKey: request.canonicalFoodKey,
      clientReferenceId: request.clientReferenceId,
    }),
    nutrition: nutritionInputOf(request.nutrition),
  };
}
