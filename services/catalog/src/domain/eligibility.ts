import type { EligibilityClass } from './eligibility-class.ts';
import { type FoodComponent, type FoodPolicy, foodPolicyVersion, judgeFood } from './food-policy.ts';
import { lookupCodes } from './product-code.ts';

/** What decided: the sources in the order in which they are asked. */
export type EligibilityRule = 'price' | 'product' | 'product_code_list' | 'food_policy' | 'none';

/** A class and where it comes from. The version names what it relied on, so that the same question has the same answer later. */
export interface EligibilityDecision {
  /** Null when nothing classified the item, which counts as not eligible. */
  readonly eligibility: EligibilityClass | null;
  readonly rule: EligibilityRule;
  /** '' for a class that was set on a record. */
  readonly version: string;
  readonly rationale: string;
}

/** What a decision looks at: a price and its product, a product alone, or a bare code. */
export interface EligibilitySubject {
  readonly priceEligibility: EligibilityClass | null;
  readonly productEligibility: EligibilityClass | null;
  /** GTIN-14s, in the order in which they are tried. */
  readonly codes: readonly string[];
  readonly componentIds: readonly string[];
}

/** An entry of the product-code list, as of the list's version. */
export interface ProductCodeEntry {
  readonly gtin: string;
  readonly eligibility: EligibilityClass;
  readonly version: number;
  readonly label: string | null;
}

/** What was loaded to decide with; a source that no subject needs is empty. */
export interface EligibilitySources {
  readonly entries: ReadonlyMap<string, ProductCodeEntry>;
  /** Undefined when the account does not have the feature. */
  readonly foodPolicy: FoodPolicy | undefined;
  readonly components: ReadonlyMap<string, FoodComponent>;
}

/** The subject that a price and its product make. */
export function subjectOf(
  product: {
    readonly hsaFsaEligibility: EligibilityClass | null;
    readonly upcCode: string | null;
    readonly gtin: string | null;
    readonly referenceGtin: string | null;
    readonly componentIds: readonly string[];
  },
  price?: { readonly hsaFsaEligibility: EligibilityClass | null },
): EligibilitySubject {
  return {
    priceEligibility: price?.hsaFsaEligibility ?? null,
    productEligibility: product.hsaFsaEligibility,
    codes: lookupCodes(product),
    componentIds: product.componentIds,
  };
}

/** Whether a record's own class settles it, so that neither list nor policy needs to be read. */
export function isSettled(subject: EligibilitySubject): boolean {
  return subject.priceEligibility !== null || subject.productEligibility !== null;
}

/** The class of a subject: the first source that has a word on it decides. */
export function decideEligibility(subject: EligibilitySubject, sources: EligibilitySources): EligibilityDecision {
  const { priceEligibility, productEligibility } = subject;
  if (priceEligibility !== null) return ofRecord(priceEligibility, 'price');
  if (productEligibility !== null) return ofRecord(productEligibility, 'product');
  return byProductCode(subject, sources) ?? byFoodPolicy(subject, sources) ?? unclassified(subject, sources);
}

function ofRecord(eligibility: EligibilityClass, rule: 'price' | 'product'): EligibilityDecision {
  return { eligibility, rule, version: '', rationale: `Set on the ${rule} by the partner.` };
}

function byProductCode(
  { codes }: EligibilitySubject,
  { entries }: EligibilitySources,
): EligibilityDecision | undefined {
  for (const code of codes) {
    const entry = entries.get(code);
    if (entry === undefined) continue;
    const label = entry.label === null ? '' : ` (${entry.label})`;
    return {
      eligibility: entry.eligibility,
      rule: 'product_code_list',
      version: String(entry.version),
      rationale: `Product code ${code}${label} is on version ${entry.version} of the product-code list.`,
    };
  }
  return undefined;
}

function byFoodPolicy(
  { componentIds }: EligibilitySubject,
  { foodPolicy, components }: EligibilitySources,
): EligibilityDecision | undefined {
  if (componentIds.length === 0 || foodPolicy === undefined) return undefined;
  const found = componentIds.map((id) => components.get(id)).filter((component) => component !== undefined);
  const verdict =
    found.length === componentIds.length
      ? judgeFood(foodPolicy, found)
      : { passes: false, rationale: 'A component of the product is unknown.' };
  return {
    eligibility: verdict.passes ? foodPolicy.thresholds.eligible_class : 'not_eligible',
    rule: 'food_policy',
    version: foodPolicyVersion(foodPolicy),
    rationale: verdict.rationale,
  };
}

function unclassified({ componentIds }: EligibilitySubject, { foodPolicy }: EligibilitySources): EligibilityDecision {
  const rationale =
    componentIds.length > 0 && foodPolicy === undefined
      ? 'Nothing classifies this item: food eligibility is not enabled for the account.'
      : 'Neither the price, the product, the product-code list nor the food policy classifies this item.';
  return { eligibility: null, rule: 'none', version: '', rationale };
}
