import { type Database, type Scope, withTx } from '@eligo/postgres';
import { parseDecimal } from '../domain/decimal.ts';
import { eligibilityClasses } from '../domain/eligibility-class.ts';
import type { FoodPolicy } from '../domain/food-policy.ts';
import { type Nutrient, nutrients } from '../domain/nutrition.ts';
import { insertFoodPolicy } from '../store/eligibility-sources.ts';

/**
 * Gives an account a food policy of its own from now on (decisions 9); the versions before it stay, for what relied on them. Throws a
 * RangeError for thresholds that say nothing. Returns the version.
 */
export function setFoodPolicy(
  database: Database,
  scope: Scope,
  thresholds: FoodPolicy['thresholds'],
  at: Date,
): Promise<number> {
  checkThresholds(thresholds);
  return withTx(database, scope, (tx) => insertFoodPolicy(tx, scope, thresholds, at));
}

function checkThresholds({ eligible_class, categories }: FoodPolicy['thresholds']): void {
  if (!eligibilityClasses.includes(eligible_class)) throw new RangeError(`not an eligibility class: ${eligible_class}`);
  for (const [category, limits] of Object.entries(categories)) {
    for (const [nutrient, most] of Object.entries(limits)) {
      if (!nutrients.includes(nutrient as Nutrient)) throw new RangeError(`not a nutrient: ${nutrient} of ${category}`);
      if (parseDecimal(most) === undefined) throw new RangeError(`not a number: ${most} of ${category}`);
    }
  }
}
