import { isAtMost, parseDecimal } from './decimal.ts';
import type { EligibilityClass } from './eligibility-class.ts';
import type { Nutrient, Nutrition } from './nutrition.ts';

/** The most that a component of some category may hold per 100 g, as decimal texts. */
export type FoodThresholds = { readonly [Name in Nutrient]?: string };

/** The classes that food which passes may have. */
export const foodClasses = [
  'auto_substantiation',
  'private_label',
  'letter_of_medical_necessity',
  'service',
] as const satisfies readonly EligibilityClass[];

/** A version of the rule for food (decisions 9): data, not law. `*` stands for every category that is not named. */
export interface FoodPolicy {
  /** `default` or `account`. */
  readonly owner: 'default' | 'account';
  readonly version: number;
  readonly thresholds: {
    readonly eligible_class: (typeof foodClasses)[number];
    readonly categories: { readonly [category: string]: FoodThresholds };
  };
}

/** A component as the policy sees it. */
export interface FoodComponent {
  readonly name: string;
  readonly category: string | null;
  readonly nutrition: Nutrition;
}

/** How a policy is named on whatever relied on it. */
export function foodPolicyVersion(policy: FoodPolicy): string {
  return `${policy.owner}:${policy.version}`;
}

/**
 * Whether every component stays within its category's thresholds. A nutrient that has a threshold and is not known fails: what was not said
 * is not proved.
 */
export function judgeFood(
  policy: FoodPolicy,
  components: readonly FoodComponent[],
): { passes: boolean; rationale: string } {
  for (const component of components) {
    const fault = faultOf(policy, component);
    if (fault !== undefined) return { passes: false, rationale: fault };
  }
  return { passes: true, rationale: 'Every component is within the thresholds of the food policy.' };
}

function faultOf({ thresholds }: FoodPolicy, component: FoodComponent): string | undefined {
  const { categories } = thresholds;
  const category = component.category ?? '*';
  const own = Object.hasOwn(categories, category) ? categories[category] : categories['*'];
  if (own === undefined) return `The food policy has no thresholds for the component "${component.name}".`;
  for (const [nutrient, most] of Object.entries(own)) {
    const known = component.nutrition[nutrient as Nutrient];
    if (known === null) return `${nutrient} of the component "${component.name}" is unknown.`;
    const [amount, limit] = [parseDecimal(known), parseDecimal(most)];
    if (amount === undefined || limit === undefined) throw new Error(`Not a decimal number: ${known} or ${most}`);
    if (!isAtMost(amount, limit)) {
      return `${nutrient} of the component "${component.name}" is ${known} per 100 g, over the threshold of ${most}.`;
    }
  }
  return undefined;
}
