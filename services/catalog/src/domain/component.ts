import { createHash } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { checkClear, checkIndexedText, type Loc, type Metadata } from './field-rules.ts';
import { foldedText } from './folded-text.ts';
import {
  type Nutrient,
  type Nutrition,
  type NutritionInput,
  nutrients,
  per100Grams,
  storedServingSize,
} from './nutrition.ts';

/** What an account says of a component, beside its name. */
export interface ComponentFields {
  readonly category: string | null;
  readonly servingSizeG: string | null;
  /** Per 100 g. */
  readonly nutrition: Nutrition;
  readonly vegan: boolean | null;
  readonly glutenFree: boolean | null;
  readonly canonicalFoodKey: string | null;
  readonly clientReferenceId: string | null;
  readonly metadata: Metadata;
}

/** An ingredient: its name is shared by all accounts, everything else is the account's own. */
export interface Component extends ComponentFields {
  readonly componentId: string;
  readonly componentNutritionId: string;
  readonly name: string;
  readonly shared: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What a registration or an update gives; a field left out is unset, or stays as it is. */
export interface ComponentInput {
  readonly category?: string;
  readonly nutritionBasis?: string;
  readonly servingSizeG?: string;
  readonly nutrition?: NutritionInput;
  readonly vegan?: boolean;
  readonly glutenFree?: boolean;
  readonly canonicalFoodKey?: string;
  readonly clientReferenceId?: string;
  readonly metadata?: Metadata;
}

/** The fields that `clear` resets, by the names that partners use; one nutrient as `nutrition.sodium_mg`. */
export const clearableComponentFields = [
  'category',
  'serving_size_g',
  'nutrition',
  'vegan',
  'gluten_free',
  'canonical_food_key',
  'client_reference_id',
  'metadata',
  ...nutrients.map((name) => `nutrition.${name}` as const),
] as const;

/** What two spellings of one name have in common: NFKC, case and blanks do not count (interface, Product component rule 3). */
export function componentNameHash(name: string, loc: Loc): Buffer {
  const folded = foldedText(name);
  if (folded === '') throw Failure.invalid(loc, 'missing', 'A name is required');
  return createHash('sha256').update(folded, 'utf8').digest();
}

/** The fields of a registration. */
export function newComponentFields(input: ComponentInput, loc: Loc): ComponentFields {
  return changedComponentFields(blank, input, [], loc);
}

/** The fields after an update: only what is supplied changes, nutrients each by themselves; what `clear` names is reset. */
export function changedComponentFields(
  fields: ComponentFields,
  input: ComponentInput,
  clear: readonly string[],
  loc: Loc,
): ComponentFields {
  const cleared = checkClear(clear, clearableComponentFields, [...loc, 'clear']);
  const keep = <T>(field: (typeof clearableComponentFields)[number], before: T | null): T | null =>
    cleared.has(field) ? null : before;
  const servingSizeG =
    storedServingSize(input.servingSizeG ?? null, [...loc, 'serving_size_g']) ??
    keep('serving_size_g', fields.servingSizeG);
  const given = per100Grams(input.nutrition ?? {}, input.nutritionBasis ?? null, servingSizeG, loc);
  return {
    category: input.category ?? keep('category', fields.category),
    servingSizeG,
    nutrition: Object.fromEntries(
      nutrients.map((name) => [
        name,
        given[name] ?? (cleared.has('nutrition') ? null : keep(`nutrition.${name}`, fields.nutrition[name])),
      ]),
    ) as Record<Nutrient, string | null>,
    vegan: input.vegan ?? keep('vegan', fields.vegan),
    glutenFree: input.glutenFree ?? keep('gluten_free', fields.glutenFree),
    canonicalFoodKey: input.canonicalFoodKey ?? keep('canonical_food_key', fields.canonicalFoodKey),
    clientReferenceId: checkIndexedText(
      input.clientReferenceId ?? keep('client_reference_id', fields.clientReferenceId),
      [...loc, 'client_reference_id'],
    ),
    metadata: input.metadata ?? (cleared.has('metadata') ? {} : fields.metadata),
  };
}

const blank: ComponentFields = {
  category: null,
  servingSizeG: null,
  nutrition: Object.fromEntries(nutrients.map((name) => [name, null])) as Record<Nutrient, null>,
  vegan: null,
  glutenFree: null,
  canonicalFoodKey: null,
  clientReferenceId: null,
  metadata: {},
};
