import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import { type Component, type ComponentInput, changedComponentFields } from '../domain/component.ts';
import { lockComponent, updateComponent as update } from '../store/components.ts';
import { refusingTaken } from './create-component.ts';

/** Changes what is supplied of the caller's own nutrition; the name is everybody's and never changes. */
export function updateComponent(
  { database, clock }: Context,
  { scope }: Asker,
  id: string,
  input: ComponentInput,
  clear: readonly string[],
): Promise<Component> {
  return refusingTaken(() =>
    withTx(database, scope, async (tx) => {
      const component = await lockComponent(tx, scope, id);
      if (component === undefined) throw new Failure('product_component_not_found');
      const fields = changedComponentFields(component, input, clear, ['body', 'product_component']);
      const updatedAt = clock.now();
      await update(tx, scope, id, fields, updatedAt);
      return { ...component, ...fields, updatedAt };
    }),
  );
}
