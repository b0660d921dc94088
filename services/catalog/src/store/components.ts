import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { Component, ComponentFields } from '../domain/component.ts';
import { type Nutrient, nutrients } from '../domain/nutrition.ts';
import { type Page, type PageRequest, readPage } from './page.ts';

/**
 * The id under which a name is known in this mode, and whether it was made now. Of many that register one new name at once the first makes
 * it; the others wait for its transaction and then find it.
 */
export async function claimComponentName(
  tx: Tx,
  testMode: boolean,
  nameHash: Buffer,
  newComponentId: string,
  at: Date,
): Promise<{ componentId: string; isNew: boolean }> {
  const made = await tx.row(insertName, null, [testMode, nameHash, newComponentId, at]);
  if (made !== undefined) return { componentId: made.componentId, isNew: true };
  const found = await tx.row(findName, null, [testMode, nameHash]);
  if (found === undefined) throw new Error('A component name was neither inserted nor found');
  return { componentId: found.componentId, isNew: false };
}

export async function insertComponent(tx: Tx, scope: Scope, component: Component): Promise<void> {
  const { componentNutritionId, componentId, name, shared, createdAt } = component;
  await tx.execute(insert, scope, [
    componentNutritionId,
    componentId,
    name,
    shared,
    createdAt,
    ...fieldValues(component),
  ]);
}

export async function updateComponent(
  tx: Tx,
  scope: Scope,
  id: string,
  fields: ComponentFields,
  at: Date,
): Promise<void> {
  await tx.execute(update, scope, [id, at, ...fieldValues(fields)]);
}

/** The caller's own nutrition of a component, by the component's id. */
export async function findComponent(db: Db, scope: Scope, componentId: string): Promise<Component | undefined> {
  return asComponent(await db.row(find, scope, [componentId]));
}

export async function lockComponent(tx: Tx, scope: Scope, componentId: string): Promise<Component | undefined> {
  return asComponent(await tx.row(lock, scope, [componentId]));
}

/** The caller's own of these components, in no order. */
export async function findComponents(db: Db, scope: Scope, componentIds: readonly string[]): Promise<Component[]> {
  return (await db.rows(findMany, scope, [componentIds])).map(componentOf);
}

export async function listComponents(
  db: Db,
  scope: Scope,
  page: PageRequest,
  clientReferenceId: string | undefined,
): Promise<Page<Component>> {
  const { rows, hasMore } = await readPage<ComponentRow>(db, scope, page, {
    name: clientReferenceId === undefined ? 'components.list' : 'components.list.reference',
    table: 'component_nutrition',
    id: 'component_nutrition_id',
    columns,
    where: clientReferenceId === undefined ? 'true' : 'r.client_reference_id = $6',
    values: clientReferenceId === undefined ? [] : [clientReferenceId],
  });
  return { rows: rows.map(componentOf), hasMore };
}

/** A row has the nutrients beside each other, a component has them as one. */
type ComponentRow = Omit<Component, 'nutrition'> & { readonly [Name in Nutrient]: string | null };

function asComponent(row: ComponentRow | undefined): Component | undefined {
  return row === undefined ? undefined : componentOf(row);
}

function componentOf(row: ComponentRow): Component {
  const nutrition = Object.fromEntries(nutrients.map((name) => [name, row[name]])) as Component['nutrition'];
  return { ...row, nutrition };
}

function fieldValues(fields: ComponentFields): unknown[] {
  return [
    fields.category,
    fields.servingSizeG,
    ...nutrients.map((name) => fields.nutrition[name]),
    fields.vegan,
    fields.glutenFree,
    fields.canonicalFoodKey,
    fields.clientReferenceId,
    fields.metadata,
  ];
}

const ofScope = 'r.account_id = $1 and r.test_mode = $2';
const fieldColumns = [
  'category',
  'serving_size_g',
  ...nutrients,
  'vegan',
  'gluten_free',
  'canonical_food_key',
  'client_reference_id',
  'metadata',
];
// trim_scale drops the zeros at the end: 5.000000 is shown as 5.
const columns = `r.component_nutrition_id as "componentNutritionId", r.component_id as "componentId", r.name, r.shared, r.category,
  trim_scale(r.serving_size_g) as "servingSizeG", ${nutrients.map((name) => `trim_scale(r.${name}) as ${name}`).join(', ')},
  r.vegan, r.gluten_free as "glutenFree", r.canonical_food_key as "canonicalFoodKey", r.client_reference_id as "clientReferenceId",
  r.metadata, r.created_at as "createdAt", r.updated_at as "updatedAt"`;

const insertName = unscoped<{ componentId: string }>(
  'component_names.insert',
  `insert into component_names (test_mode, name_hash, component_id, created_at) values ($1, $2, $3, $4)
   on conflict (test_mode, name_hash) do nothing returning component_id as "componentId"`,
);
const findName = unscoped<{ componentId: string }>(
  'component_names.find',
  'select component_id as "componentId" from component_names where test_mode = $1 and name_hash = $2',
);
const insert = scoped(
  'components.insert',
  `insert into component_nutrition (account_id, test_mode, component_nutrition_id, component_id, name, shared, created_at, updated_at,
     ${fieldColumns.join(', ')})
   values ($1, $2, $3, $4, $5, $6, $7, $7, ${fieldColumns.map((_, index) => `$${index + 8}`).join(', ')})`,
);
const update = scoped(
  'components.update',
  `update component_nutrition r set updated_at = $4, ${fieldColumns.map((name, index) => `${name} = $${index + 5}`).join(', ')}
   where ${ofScope} and r.component_id = $3`,
);
const find = scoped<ComponentRow>(
  'components.find',
  `select ${columns} from component_nutrition r where ${ofScope} and r.component_id = $3`,
);
const lock = scoped<ComponentRow>(
  'components.lock',
  `select ${columns} from component_nutrition r where ${ofScope} and r.component_id = $3 for update`,
);
const findMany = scoped<ComponentRow>(
  'components.find_many',
  `select ${columns} from component_nutrition r where ${ofScope} and r.component_id = any($3::text[])`,
);
