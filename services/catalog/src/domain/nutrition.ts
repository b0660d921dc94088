import { Failure } from '@eligo/failures';
import { type Decimal, formatDecimal, isAtMost, parseDecimal, roundDecimal, scaleDecimal } from './decimal.ts';
import type { Loc } from './field-rules.ts';

/** The nutrients of a component, by the names that partners use. */
export const nutrients = [
  'calories',
  'total_fat_g',
  'saturated_fat_g',
  'trans_fat_g',
  'carbohydrate_g',
  'fiber_g',
  'protein_g',
  'sodium_mg',
  'added_sugar_g',
] as const;

export type Nutrient = (typeof nutrients)[number];

/** Decimal texts; a nutrient that is not known is null. */
export type Nutrition = { readonly [Name in Nutrient]: string | null };

/** What a request gives: only the nutrients that it names. */
export type NutritionInput = { readonly [Name in Nutrient]?: string };

/** How the figures of a request are meant. */
export type NutritionBasis = 'per_100g' | 'as_served';

/**
 * The figures per 100 g, as they are stored (interface, Product component rules 1 and 2): six decimals, half rounded up, computed exactly.
 * `servingSizeG` is needed for figures `as_served`.
 */
export function per100Grams(
  given: NutritionInput,
  basis: string | null,
  servingSizeG: string | null,
  loc: Loc,
): NutritionInput {
  const isServed = readBasis(basis, [...loc, 'nutrition_basis']) === 'as_served';
  const names = nutrients.filter((name) => given[name] !== undefined);
  if (isServed && names.length > 0 && servingSizeG === null) {
    throw Failure.invalid([...loc, 'serving_size_g'], 'missing', 'Required with nutrition_basis as_served');
  }
  const serving = servingSizeG === null ? one : readServing(servingSizeG, [...loc, 'serving_size_g']);
  const stored: { [Name in Nutrient]?: string } = {};
  for (const name of names) {
    const path = [...loc, 'nutrition', name];
    const figure = readFigure(given[name] ?? '', path);
    const per100 = isServed ? scaleDecimal(figure, hundred, serving) : roundDecimal(figure);
    stored[name] = formatDecimal(checkRange(per100, path));
  }
  return stored;
}

/** A serving's size as it is stored: grams with six decimals, more than zero. */
export function storedServingSize(text: string | null, loc: Loc): string | null {
  return text === null ? null : formatDecimal(readServing(text, loc));
}

const one: Decimal = { units: 1n, scale: 0 };
const hundred: Decimal = { units: 100n, scale: 0 };
// What the column holds: nine digits before the point.
const most: Decimal = { units: 999_999_999n, scale: 0 };

function readBasis(basis: string | null, loc: Loc): NutritionBasis {
  if (basis === null || basis === 'per_100g') return 'per_100g';
  if (basis === 'as_served') return basis;
  throw Failure.invalid(loc, 'invalid_value', 'Must be per_100g or as_served');
}

function readFigure(text: string, loc: Loc): Decimal {
  const figure = parseDecimal(text);
  if (figure === undefined || figure.units < 0n)
    throw Failure.invalid(loc, 'invalid_value', 'Must be a non-negative number');
  return figure;
}

function readServing(text: string, loc: Loc): Decimal {
  const serving = roundDecimal(readFigure(text, loc));
  if (serving.units === 0n) throw Failure.invalid(loc, 'out_of_range', 'Must be more than 0');
  return checkRange(serving, loc);
}

function checkRange(value: Decimal, loc: Loc): Decimal {
  if (!isAtMost(value, most)) throw Failure.invalid(loc, 'out_of_range', 'Must be at most 999999999');
  return value;
}
