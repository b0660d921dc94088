import type { Db, Scope } from '@eligo/postgres';
import type { Loc } from '../domain/field-rules.ts';
import { badReference } from '../domain/reference.ts';
import { findComponents } from '../store/components.ts';

/** Refuses a component that the account has not registered. A product's other references are its own texts. */
export async function checkComponents(db: Db, scope: Scope, componentIds: readonly string[], loc: Loc): Promise<void> {
  if (componentIds.length === 0) return;
  const known = new Set((await findComponents(db, scope, componentIds)).map(({ componentId }) => componentId));
  for (const [index, id] of componentIds.entries()) {
    if (!known.has(id)) throw badReference([...loc, String(index)], 'product_component_not_found', id);
  }
}
