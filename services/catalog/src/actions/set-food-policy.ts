import { type Database, type Scope, withTx } from '@eligo/postgres';
import { parseDecimal } from '../domain/decimal.ts';
import { type FoodPolicy, foodClasses } from '../domain/food-policy.ts';
import { type Nutrient, nutrients } from '../domain/nutrition.ts';
import { insertFoodPolicy } from '../store/eligibility-sources.ts';

/**
 * Gives an account a food policy of its own (decisions 9), in force from `effectiveAt` and never before now; the versions before it stay, for
 * what relied on them. Throws a RangeError for thresholds that say nothing. Returns the version.
 */
export function setFoodPolicy(
  database: Database,
  scope: Scope,
  thresholds: FoodPolicy['thresholds'],
  effectiveAt: Date,
): Promise<number> {
  checkThresholds(thresholds);
  return withTx(database, scope, (tx) => insertFoodPolicy(tx, scope, thresholds, effectiveAt));
}

// What an operator's file says is only believed to have the type.
function checkThresholds(thresholds: FoodPolicy['thresholds']): void {
  const { eligible_class, categories } = Object.fromEntries(entriesOf(thresholds, 'the food policy'));
  if (!foodClasses.some((known) => known === eligible_class))
    throw new RangeError(`Not a class for food: ${eligible_class}`);
  for (const [category, limits] of entriesOf(categories, 'categories')) {
    for (const [nutrient, most] of entriesOf(limits, category)) {
      if (!nutrients.includes(nutrient as Nutrient))
        throw new RangeError(`Unknown nutrient ${nutrient} in category ${category}`);
      const limit = typeof most === 'string' ? parseDecimal(most) : undefined;
      if (limit === undefined || limit.units < 0n) {
        throw new RangeError(`Not a non-negative number in quotes: ${most} in category ${category}`);
      }
    }
  }
}

function entriesOf(value: unknown, name: string): [string, unknown][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new RangeError(`Not an object: ${name}`);
}
