import { decisionsIn, placesIn } from '../rule.ts';
import {
  answers,
  codeImport,
  components,
  discounts,
  eligibility,
  input,
  prices,
  probes,
  products,
  rendering,
} from './tests.ts';

const gateway = placesIn('gateway/src');
const catalog = placesIn('services/catalog/src');
const strictly = rendering('a message with every field set renders to its schema, strictly');

const records = decisionsIn('4. Records whose fields the interface does not show', [
  {
    quote:
      'product | `product_id, name, description, upc_code, gtin, reference_gtin, url, client_reference_id, image_urls, categories, components, hsa_fsa_eligibility, eligibility_rationale, visit_type, active, metadata, test_mode, created_at, updated_at`',
    contract: ['resources/product.ts#renderProduct'],
    answers: 'product',
    tests: [...strictly, ...products('keeps every field, and says why it has its class')],
  },
  {
    quote:
      'coupon | `coupon_id, name, amount_off, percent_off, duration, duration_in_months, max_redemptions, times_redeemed, applies_to {products, prices}, valid, metadata, test_mode, created_at`',
    contract: ['resources/coupon.ts#renderCoupon'],
    answers: 'coupon',
    tests: [
      ...strictly,
      ...discounts('takes an amount or a percentage off, for once by default, and is read back whole'),
    ],
  },
  {
    quote:
      'promo code | `promo_code_id, code, coupon, customer, max_redemptions, times_redeemed, active, expires_at, metadata, test_mode, created_at`; unique per account and mode among active ones, case-insensitively',
    contract: ['resources/promo-code.ts#renderPromoCode'],
    answers: 'promo_code',
    code: catalog('domain/promo-code.ts#promoCodeKey'),
    database: ['catalog.promo_codes_active_code'],
    tests: [
      ...discounts(
        'shows its coupon populated, and is found by code, coupon, customer and state',
        'is unique among active ones, case-insensitively, per account and mode',
      ),
    ],
  },
  {
    quote:
      '`hsa_fsa_eligibility`: `not_eligible`, `auto_substantiation`, `private_label`, `letter_of_medical_necessity`, `prescription`, `vision`, `service`,',
    contract: ['fields.ts#eligibilityClasses'],
    answers: 'price',
    code: catalog('domain/eligibility-class.ts#eligibilityClasses'),
    database: ['catalog.prices_class', 'catalog.products_class', 'catalog.product_codes_class'],
    tests: [
      ...strictly,
      ...eligibility(
        'by the price first, then the product, the product-code list and the food policy, and else by nothing',
      ),
    ],
  },
  {
    quote: '`recurring.interval`: `day`, `week`, `month`, `year`; `daily`, `weekly`, `monthly`, `yearly` are aliases.',
    contract: ['fields.ts#interval'],
    asks: 'prices.create',
    code: gateway('messages.ts#intervalOf'),
    database: ['catalog.prices_interval'],
    tests: [
      ...answers('a session with everything reaches checkout whole'),
      ...prices('is one-time unless recurring is included'),
    ],
  },
  {
    quote: 'Metadata: 50 keys of 40 characters, values of 500, strings only.',
    contract: ['fields.ts#metadata', 'limits.ts#limits'],
    tests: input('metadata: 50 keys of 40 characters, values of 500, strings only'),
  },
]);

const served = decisionsIn('5. Endpoints beyond those that the interface shows', [
  {
    quote: 'Products | `POST`, `GET`, `GET /{id}`, `PATCH /{id}`, `PATCH` with `{product: {product_id, …}}` |',
    contract: ['products.create', 'products.list', 'products.get', 'products.update', 'products.update_by_body'],
    tests: products('changes only what is supplied, and what is cleared is reset'),
  },
  {
    quote:
      "Components | `GET /{id}`, `PATCH /{id}` (only what is supplied; `clear: [field]`); the list's cursor is `component_nutrition_id` |",
    contract: ['product_components.get', 'product_components.update'],
    code: catalog('domain/component.ts#changedComponentFields', 'domain/component.ts#clearableComponentFields'),
    tests: components(
      'changes only what is supplied, one nutrient by itself, and resets what is cleared',
      'is listed by its component_nutrition_id, which is the cursor',
    ),
  },
  {
    quote: 'Prices | `POST` and `PATCH /{id}` (not the amounts) |',
    contract: ['prices.update', 'prices.update_by_post'],
    database: ['catalog.prices_immutable'],
    tests: prices('changes only what is supplied, and never its amount, recurrence or product'),
  },
  {
    quote: '`DELETE /v1/coupons/{id}` (stops new redemptions) |',
    contract: ['coupons.delete'],
    code: catalog('actions/delete-coupon.ts#deleteCoupon', 'domain/coupon.ts#isCouponValid'),
    tests: discounts('that was deleted takes no redemption, but stays readable'),
  },
  {
    quote:
      'Eligibility | `POST /v1/eligibility {items: [{product \\| price \\| upc_code \\| gtin, quantity, unit_amount}]}` (no envelope) |',
    contract: ['eligibility.evaluate'],
    asks: 'eligibility.evaluate',
    code: catalog('actions/evaluate-eligibility.ts#evaluateEligibility'),
    tests: [
      ...eligibility(
        'is the whole of an eligible item, nothing of another, and absent where nothing says what it costs',
      ),
      ...eligibility('of another account’s record is not found at its place'),
      ...codeImport('with a wrong check digit is refused at its place'),
    ],
  },
]);

const food = decisionsIn('9. Food', [
  {
    quote:
      'There is no public nutrition threshold for HSA/FSA, so the rule is data: a versioned policy of thresholds per 100 g by component category, one default and one per account, and the version is stored with each decision.',
    code: catalog('domain/food-policy.ts#judgeFood', 'actions/set-food-policy.ts#setFoodPolicy'),
    database: ['catalog.food_policies_shape', 'catalog.food_policies_immutable', 'catalog.food_policies_by_effect'],
    tests: eligibility(
      'of an account goes before the default, by category, and its versions answer as of their time',
      'never changes in place',
    ),
  },
  {
    quote:
      'A product passes when every component does; a nutrient that has a threshold and is not known fails, because what was not said is not proved.',
    code: catalog('domain/food-policy.ts#judgeFood', 'domain/decimal.ts#isAtMost'),
    tests: eligibility('passes a product when every component is within every threshold, exactly'),
  },
  {
    quote: 'Off unless the account has `food_eligibility`.',
    code: catalog('actions/work.ts#hasFoodEligibility'),
    tests: eligibility('is off unless the account has food_eligibility'),
  },
]);

const settled = decisionsIn('14. What building it settled', [
  {
    quote:
      '**Redemptions count once per session**, however often it lists a coupon, and for the coupon behind a promo code too;',
    code: catalog('actions/reserve-redemption.ts#reserveRedemption', 'store/redemptions.ts#countCoupons'),
    database: ['catalog.redemptions_pkey', 'catalog.coupons_redeemed_within_limit'],
    tests: discounts('counts a coupon once for a session, however often it is listed and whatever is repeated'),
  },
  {
    quote: 'a release that overtakes its reservation refuses it.',
    code: catalog('actions/end-redemption.ts#endRedemption'),
    database: ['catalog.redemptions_moves'],
    tests: discounts('that arrives after its own release counts nothing'),
  },
  {
    quote: '**Component names are kept as a hash** of the folded name,',
    code: catalog('domain/component.ts#componentNameHash'),
    database: ['catalog.component_names_hash_length'],
    tests: components('tells nobody who else registered it'),
  },
  {
    quote: "**The product-code list is asked before the food policy and after the records' own class**:",
    code: catalog('domain/eligibility.ts#decideEligibility'),
    tests: eligibility(
      'by the price first, then the product, the product-code list and the food policy, and else by nothing',
    ),
  },
  {
    quote: "A product may carry a code whose check digit is wrong (a shop's own number); it is not looked up.",
    code: catalog('domain/product-code.ts#lookupCodes'),
    tests: codeImport('of a product is tried before the one that it refers to; what does not check is left out'),
  },
  {
    quote: '**A probe of a foreign record is answered like one that does not exist**, byte for byte,',
    code: gateway('presence.ts#assertPresent'),
    tests: probes('every route answers the owner of a record and refuses everybody else by byte-equal 404s'),
  },
]);

/** What the decisions settle about the catalog. */
export const catalogDecisions = [records, served, food, settled];
