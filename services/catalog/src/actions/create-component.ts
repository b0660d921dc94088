import { Failure } from '@eligo/failures';
import { isUniqueViolation, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { type Component, type ComponentInput, componentNameHash, newComponentFields } from '../domain/component.ts';
import { claimComponentName, findComponent, insertComponent } from '../store/components.ts';

const loc = ['body', 'product_component'];

/**
 * Registers a component: under the id that its name has in this mode, with the caller's own nutrition. Whatever is refused depends on the
 * caller's own rows alone.
 */
export async function createComponent(
  { database, clock }: Context,
  { scope }: Asker,
  name: string,
  input: ComponentInput,
): Promise<Component> {
  const nameHash = componentNameHash(name, [...loc, 'name']);
  const fields = newComponentFields(input, loc);
  const at = clock.now();
  return refusingTaken(() =>
    withTx(database, scope, async (tx) => {
      const named = await claimComponentName(tx, scope.testMode, nameHash, newId('product_component'), at);
      // The unique indexes refuse it, too, but in an order of their own where the reference is the same.
      if (!named.isNew && (await findComponent(tx, scope, named.componentId)) !== undefined) {
        throw new Failure('component_already_registered');
      }
      const component: Component = {
        ...fields,
        componentId: named.componentId,
        componentNutritionId: newId('component_nutrition'),
        name,
        // The caller has no component of this name, so another account registered it.
        shared: !named.isNew,
        createdAt: at,
        updatedAt: at,
      };
      await insertComponent(tx, scope, component);
      return component;
    }),
  );
}

/** Runs a write and turns the unique indexes' words into the two refusals of the interface. */
export async function refusingTaken<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isUniqueViolation(error, 'component_nutrition_registered_once')) {
      throw new Failure('component_already_registered', { cause: error });
    }
    if (isUniqueViolation(error, 'component_nutrition_client_reference')) {
      throw new Failure('client_reference_id_in_use', { cause: error });
    }
    throw error;
  }
}
