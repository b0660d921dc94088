import { placesIn, type Section } from '../rule.ts';
import {
  components,
  constraints,
  discounts,
  input,
  prices,
  products,
  rendering,
  shared,
  shippingRates,
} from './tests.ts';

const catalog = placesIn('services/catalog/src');
const document = 'interface.md';
const strictly = rendering('a message with every field set renders to its schema, strictly');

const shippingRate: Section = {
  document,
  heading: 'Shipping rate',
  rules: [
    {
      quote: '`shipping_rate_id`, `active` (true at creation),',
      contract: ['resources/shipping-rate.ts#shippingRateSchema'],
      answers: 'shipping_rate',
      code: catalog('actions/create-shipping-rate.ts#createShippingRate'),
      tests: shippingRates('is active at first, and read back whole'),
    },
    {
      quote: '`display_name` and `amount` (immutable),',
      contract: ['shipping_rates.update'],
      answers: 'shipping_rate',
      code: catalog('store/shipping-rates.ts#updateShippingRate'),
      database: ['catalog.shipping_rates_immutable', 'catalog.shipping_rates_amount_range'],
      tests: shippingRates('never changes its name or amount, whoever asks', 'with a negative amount is refused'),
    },
    {
      quote: '`metadata`, `test_mode`, `created_at`.',
      contract: ['resources/shipping-rate.ts#renderShippingRate'],
      answers: 'shipping_rate',
      tests: [...strictly, ...shippingRates('is active at first, and read back whole')],
    },
  ],
};

const productComponent: Section = {
  document,
  heading: 'Product component',
  rules: [
    {
      quote:
        'A request gives `name`, `category` (`base` is used), `nutrition_basis` (`per_100g` or `as_served`), `serving_size_g`, `nutrition`, `vegan`, `gluten_free`, `canonical_food_key`, `client_reference_id`, `metadata`.',
      contract: ['product_components.create', 'product_components.update'],
      asks: 'product_components.create',
      besides: ['base'],
      code: catalog('domain/component.ts#newComponentFields'),
      database: ['catalog.component_nutrition_client_reference_length'],
      tests: components(
        'changes only what is supplied, one nutrient by itself, and resets what is cleared',
        'is one for all accounts, whatever its case and form, each with nutrition of its own',
      ),
    },
    {
      quote:
        '`nutrition` holds numbers: `calories`, `total_fat_g`, `saturated_fat_g`, `trans_fat_g`, `carbohydrate_g`, `fiber_g`, `protein_g`, `sodium_mg`, `added_sugar_g`.',
      contract: ['fields.ts#decimal', 'resources/product-component.ts#nutritionSchema'],
      asks: 'product_components.create',
      answers: 'product_component',
      code: catalog('domain/nutrition.ts#nutrients'),
      database: ['catalog.component_nutrition_not_negative'],
      tests: [
        ...components('as served needs a serving size, and figures that are numbers'),
        ...constraints('%s refuses: %s'),
      ],
    },
    {
      quote:
        'An answer has `component_id`, `component_nutrition_id`, `name`, `shared`, `test_mode`, `category`, `serving_size_g`, `nutrition`, `vegan`, `gluten_free`, `canonical_food_key`, `client_reference_id`, `metadata`, `created_at`, `updated_at`.',
      contract: ['resources/product-component.ts#renderProductComponent'],
      answers: 'product_component',
      tests: [...strictly, ...rendering('every field stands, null where there is no value')],
    },
    {
      quote: 'Nutrients are stored per 100 g of the component.',
      code: catalog('domain/nutrition.ts#per100Grams', 'domain/decimal.ts#storedDecimals'),
      tests: components('as served is converted to per 100 g exactly, with six decimals, half rounded up'),
    },
    {
      quote:
        'With `nutrition_basis: as_served` and a `serving_size_g`, figures per serving are converted to per 100 g.',
      contract: ['product_components.create'],
      asks: 'product_components.create',
      code: catalog('domain/nutrition.ts#per100Grams', 'domain/decimal.ts#roundDecimal'),
      database: ['catalog.component_nutrition_serving_positive'],
      tests: components(
        'as served is converted to per 100 g exactly, with six decimals, half rounded up',
        'as served comes back within the rounding when it is converted again',
        'as served needs a serving size, and figures that are numbers',
      ),
    },
    {
      quote: 'Names are matched case-insensitively against a table shared by all accounts.',
      code: catalog(
        'domain/folded-text.ts#foldedText',
        'domain/component.ts#componentNameHash',
        'store/components.ts#claimComponentName',
      ),
      database: ['catalog.component_names_pkey', 'catalog.component_names_hash_length'],
      tests: components(
        'is one for all accounts, whatever its case and form, each with nutrition of its own',
        'is another in the other mode',
        'tells nobody who else registered it',
      ),
    },
    {
      quote:
        "Registering a name that another account has registered gives the same `component_id`, with the caller's own nutrition.",
      answers: 'product_component',
      code: catalog('actions/create-component.ts#createComponent', 'store/components.ts#claimComponentName'),
      database: ['catalog.component_names_component', 'catalog.component_nutrition_name'],
      tests: components(
        'is one for all accounts, whatever its case and form, each with nutrition of its own',
        'registered by fifty accounts at once gets one component_id, and one of them made it',
      ),
    },
    {
      quote: '`client_reference_id` is unique within an account and mode.',
      answers: 'product_component',
      code: catalog('actions/create-component.ts#refusingTaken'),
      database: ['catalog.component_nutrition_client_reference'],
      tests: components(
        'on a different component is the second 409, by POST and by PATCH; other accounts and the other mode may reuse it',
      ),
    },
  ],
};

const price: Section = {
  document,
  heading: 'Price',
  rules: [
    {
      quote:
        'A request gives `lookup_key`, `transfer_lookup_key`, `description`, `unit_amount`, `recurring` (`interval`, `interval_count`, `trial_period_days`;',
      contract: ['prices.create', 'fields.ts#recurring'],
      asks: 'prices.create',
      code: catalog('domain/price.ts#newPriceFields', 'actions/create-price.ts#claimLookupKey'),
      database: ['catalog.prices_lookup_key', 'catalog.prices_interval', 'catalog.prices_interval_count_positive'],
      tests: prices(
        'is owned by its account and read back whole, its product inlined when that is asked for',
        'moves with transfer_lookup_key, by POST and by PATCH, from whichever price holds it',
        'transferred by twenty at once ends with one holder and no failure',
        'is held by one price at every moment, also for those who look while twenty move it',
      ),
    },
    {
      quote: 'only for recurring prices),',
      contract: ['fields.ts#recurring'],
      code: catalog('domain/price.ts#newPriceFields'),
      database: ['catalog.prices_recurring_whole', 'catalog.prices_trial_not_negative'],
      tests: prices('is one-time unless recurring is included'),
    },
    {
      quote:
        '`metadata`, and `product` or `product_data` (`name`, `description`, `upc_code`, `gtin`, `reference_gtin`, `url`, `client_reference_id`, `metadata`, `image_urls`, `categories`, `components`), which makes the product inline.',
      contract: ['prices.create', 'routes/products.ts#productData'],
      asks: 'prices.create',
      code: catalog('actions/make-product.ts#makeProduct', 'actions/create-price.ts#createPrice'),
      tests: [
        ...prices('takes the product of product_data along, both or neither'),
        ...products('keeps every field, and says why it has its class'),
      ],
    },
    {
      quote:
        'An answer has `price_id`, `owner_partner_id`, `description`, `trial_period_days`, `unit_amount`, `recurring`, `active`, `product` (or the product, expanded), `created_at`, `type` (`one_time`, `recurring`), `metadata`, `lookup_key`, `hsa_fsa_eligibility`, `test_mode`.',
      contract: ['resources/price.ts#renderPrice', 'resources/price.ts#priceReferences'],
      answers: 'price',
      tests: [
        ...strictly,
        ...prices('is owned by its account and read back whole, its product inlined when that is asked for'),
      ],
    },
    {
      quote: 'Price rules: supply `product` or `product_data`.',
      contract: ['prices.create'],
      asks: 'prices.create',
      code: catalog('actions/create-price.ts#createPrice'),
      database: ['catalog.prices_product'],
      tests: [...shared('takes product or product_data, and not both'), ...prices('needs a product, of the caller')],
    },
    {
      quote: 'A price is one-time unless it has `recurring`.',
      contract: ['resources/price.ts#renderPrice'],
      answers: 'price',
      tests: prices('is one-time unless recurring is included'),
    },
    {
      quote: "Where its own eligibility is unset, its product's applies.",
      code: catalog('domain/price.ts#effectiveEligibility', 'domain/eligibility.ts#decideEligibility'),
      database: ['catalog.prices_product', 'catalog.products_as_prices_see_them'],
      tests: prices('takes on the class of its product where its own is unset, also when the product changes later'),
    },
  ],
};

const file: Section = {
  document,
  heading: 'File †',
  rules: [
    {
      quote: '`file_id`, `purpose`, `filename`, `size`, `type`, `created_at`, `expires_at`.',
      aside: 'not served yet; the scope exists',
    },
    {
      quote: 'The other records are in [decisions.md](decisions.md), 4.',
      contract: [
        'resources/product.ts#renderProduct',
        'resources/coupon.ts#renderCoupon',
        'resources/promo-code.ts#renderPromoCode',
        'resources/eligibility.ts#renderEvaluatedItem',
      ],
      tests: [
        ...strictly,
        ...discounts(
          'takes an amount or a percentage off, for once by default, and is read back whole',
          'shows its coupon populated, and is found by code, coupon, customer and state',
        ),
        ...input('unknown fields are dropped'),
      ],
    },
  ],
};

/** The records of the catalog. */
export const recordSections = [shippingRate, productComponent, price, file];
