import { placesIn, type Section } from '../rule.ts';
import {
  codeImport,
  components,
  discounts,
  eligibility,
  input,
  parsing,
  priceList,
  prices,
  probes,
  products,
  rateLimits,
  rendering,
  shared,
  shippingRates,
} from './tests.ts';

const catalog = placesIn('services/catalog/src');
const document = 'interface.md';
const answered = probes('every answer parses with its schema, strictly, with and without expansion');

const endpoints: Section = {
  document,
  heading: 'Endpoints',
  rules: [
    {
      quote: 'All need a bearer key.',
      code: ['gateway/src/http/authenticate.ts#Authenticator'],
      tests: probes('every route refuses a missing, malformed and unknown key by one 401'),
    },
    {
      quote: 'Every endpoint may answer 401, 403, 404, 409, 422 and 429 in the shapes of Errors.',
      contract: ['openapi.ts#codesOf'],
      code: ['gateway/src/http/write-answer.ts#writeFailure', 'packages/failures/src/failure.ts#failureAnswer'],
      tests: [
        ...probes(
          'every route refuses a missing, malformed and unknown key by one 401',
          'every route refuses a key without its scope, and test helpers a live key, by 403',
          'every route answers the owner of a record and refuses everybody else by byte-equal 404s',
          'no bad input of the corpus gives a 5xx on any route, and every refusal has the shape of the contract',
        ),
        ...rateLimits('go before scope, path and body'),
      ],
    },
  ],
};

const shippingRateEndpoints: Section = {
  document,
  heading: 'Shipping rates',
  rules: [
    {
      quote:
        '`GET /v1/shipping_rates` | `active`, `limit`, `offset`, `starting_after`, `ending_before`; most recent first | `{shipping_rates}`',
      contract: ['shipping_rates.list'],
      asks: 'shipping_rates.list',
      besides: ['shipping_rates'],
      code: catalog('store/shipping-rates.ts#listShippingRates'),
      database: ['catalog.shipping_rates_by_active'],
      tests: shippingRates(
        'is listed most recent first, by state, and by cursor',
        'of another account or mode does not exist, also as a cursor',
      ),
    },
    {
      quote: '`POST /v1/shipping_rates` | `{shipping_rate: {display_name, amount, metadata}}` | `{shipping_rate}`',
      contract: ['shipping_rates.create'],
      asks: 'shipping_rates.create',
      besides: ['shipping_rates'],
      code: catalog('actions/create-shipping-rate.ts#createShippingRate'),
      tests: [...answered, ...shippingRates('is active at first, and read back whole')],
    },
    {
      quote: '`GET /v1/shipping_rates/{id}` | | `{shipping_rate}`',
      contract: ['shipping_rates.get'],
      code: catalog('store/shipping-rates.ts#findShippingRate'),
      tests: [...answered, ...shippingRates('is active at first, and read back whole')],
    },
    {
      quote:
        '`PUT /v1/shipping_rates/{id}` | `{shipping_rate: {active, metadata}}`, both overwritten | `{shipping_rate}`',
      contract: ['shipping_rates.update'],
      asks: 'shipping_rates.update',
      besides: ['shipping_rates'],
      code: catalog('actions/update-shipping-rate.ts#updateShippingRate'),
      tests: shippingRates(
        'is archived and revived by PUT, which overwrites metadata and clears it when it is left out',
      ),
    },
  ],
};

const componentEndpoints: Section = {
  document,
  heading: 'Product components',
  rules: [
    {
      quote:
        '`POST /v1/product_components` | `{product_component}`; registering one twice in a mode, or a `client_reference_id` on another component, is 409: update it instead | `{product_component}`',
      contract: ['product_components.create'],
      asks: 'product_components.create',
      besides: ['product_components'],
      code: catalog('actions/create-component.ts#createComponent', 'actions/create-component.ts#refusingTaken'),
      database: ['catalog.component_nutrition_registered_once', 'catalog.component_nutrition_client_reference'],
      tests: components(
        'registered twice by one account is the first 409',
        'on a different component is the second 409, by POST and by PATCH; other accounts and the other mode may reuse it',
      ),
    },
    {
      quote: '`GET /v1/product_components` | `client_reference_id` looks one up | `{product_components}`',
      contract: ['product_components.list'],
      asks: 'product_components.list',
      besides: ['product_components'],
      code: catalog('store/components.ts#listComponents'),
      tests: components('looks a component up', 'is listed by its component_nutrition_id, which is the cursor'),
    },
    {
      quote: '`GET`, `PATCH /v1/product_components/{id}` | | `{product_component}`',
      contract: ['product_components.get', 'product_components.update'],
      code: catalog('store/components.ts#findComponent', 'actions/update-component.ts#updateComponent'),
      tests: [
        ...answered,
        ...components('changes only what is supplied, one nutrient by itself, and resets what is cleared'),
      ],
    },
  ],
};

const listing = catalog('store/price-list.ts#listPrices');

const priceEndpoints: Section = {
  document,
  heading: 'Prices',
  rules: [
    {
      quote: '`POST /v1/prices`, `GET /v1/prices`, `GET`, `POST` and `PATCH /v1/prices/{id}`.',
      contract: ['prices.create', 'prices.list', 'prices.get', 'prices.update', 'prices.update_by_post'],
      code: ['gateway/src/routes/prices.ts#priceBindings', ...catalog('actions/update-price.ts#updatePrice')],
      database: ['catalog.prices_immutable'],
      tests: [...answered, ...prices('changes only what is supplied, and never its amount, recurrence or product')],
    },
    {
      quote: "A single price is read across an organization: `GET /v1/prices/{id}` also finds a sibling account's.",
      contract: ['prices.get'],
      code: catalog('actions/read-price.ts#readPrice', 'store/prices.ts#findOwnerAmong'),
      database: ['catalog.sibling_price_read on prices'],
      tests: prices(
        'reads a sibling’s single price, with its product when expanded, and nothing else of it',
        'has two worlds: a sibling’s price of the other mode is not there',
      ),
    },
    { quote: 'List rules for `GET /v1/prices`:', aside: 'the rules follow' },
    {
      quote: 'Sorted by price id, most recent first.',
      contract: ['prices.list'],
      code: listing,
      database: ['catalog.prices_listed'],
      tests: priceList('rule 1: is sorted by price id descending'),
    },
    {
      quote: 'Only active prices, unless `active=false` asks for archived ones.',
      contract: ['prices.list'],
      asks: 'prices.list',
      besides: ['false'],
      code: listing,
      tests: priceList('rule 2: holds only active prices by default, archived ones with active=false'),
    },
    {
      quote: '`product=<fprod_…>` filters to one product.',
      contract: ['prices.list', 'query.ts#queryReference'],
      code: listing,
      database: ['catalog.prices_by_product'],
      tests: priceList('rule 3: is filtered to one product'),
    },
    {
      quote: 'A price whose product is archived is left out, even if the price is active.',
      code: listing,
      database: ['catalog.prices_product'],
      tests: priceList(
        'rule 4: omits a price whose product is archived, even if the price is active, by every filter',
        'rule 4: holds for a price that is made while its product is being archived',
      ),
    },
    {
      quote:
        '`lookup_keys[]=a&lookup_keys[]=b` or `lookup_keys[0]=a&lookup_keys[1]=b` match any of up to 10 keys; commas do not separate.',
      contract: ['prices.list', 'query.ts#queryList'],
      asks: 'prices.list',
      code: [...listing, 'gateway/src/http/parse-query.ts#parseQuery'],
      database: ['catalog.prices_lookup_key'],
      tests: [
        ...priceList('rule 5: matches any of the lookup keys against the price’s own'),
        ...input('arrays in a query: brackets, indexes or the name repeated'),
        ...parsing('%i of them are refused at their name'),
      ],
    },
    {
      quote: '`metadata[key]=value` filters on pairs, several with AND, independently of `lookup_keys`.',
      contract: ['prices.list', 'query.ts#metadataFilter'],
      code: [...listing, ...catalog('store/pair-candidates.ts#byPairs')],
      database: ['catalog.price_metadata_pkey', 'catalog.prices_metadata_added', 'catalog.prices_metadata_changed'],
      tests: [
        ...priceList(
          'rule 6: combines metadata pairs with AND, independently of lookup keys',
          'rule 6: follows metadata as it changes',
          'rule 6: finds the same by pairs that are rare and by pairs that are frequent, whichever is named first',
        ),
        ...parsing('%s filters on the pairs that were set, also under a key of digits'),
      ],
    },
    {
      quote: 'Also `limit`, `offset`, `starting_after`, `ending_before` and expansion of the product.',
      contract: ['prices.list', 'resources/price.ts#priceReferences'],
      asks: 'prices.list',
      code: [...listing, ...catalog('store/page.ts#readPage')],
      tests: [
        ...priceList('rule 7: pages by limit, offset and both cursors, with every filter, and expands the product'),
        ...shared(
          'every list takes limit, offset and both cursors: 10 at once by default, 20 invoices, and at most 100',
        ),
      ],
    },
  ],
};

const otherEndpoints: Section = {
  document,
  heading: 'Other endpoints',
  rules: [
    {
      quote: 'Products,',
      contract: ['products.list', 'products.create', 'products.get', 'products.update', 'products.update_by_body'],
      code: catalog('domain/product.ts#newProductFields', 'domain/product.ts#changedProductFields'),
      database: ['catalog.products_class', 'catalog.products_metadata_is_object'],
      tests: [
        ...products(
          'keeps every field, and says why it has its class',
          'changes only what is supplied, and what is cleared is reset',
          'takes components that the account has registered, and no others',
          'is listed by state, by reference and by metadata',
          'appends product.updated in the transaction of the change, and for nothing else',
        ),
      ],
    },
    {
      quote: 'coupons and promo codes (',
      contract: [
        'coupons.list',
        'coupons.create',
        'coupons.get',
        'coupons.delete',
        'promo_codes.list',
        'promo_codes.create',
        'promo_codes.get',
        'promo_codes.update',
      ],
      code: catalog(
        'domain/coupon.ts#newCouponFields',
        'domain/promo-code.ts#newPromoCodeFields',
        'actions/reserve-redemption.ts#reserveRedemption',
        'actions/end-redemption.ts#endRedemption',
      ),
      database: [
        'catalog.coupons_amount_or_percent',
        'catalog.coupons_redeemed_within_limit',
        'catalog.promo_codes_redeemed_within_limit',
        'catalog.promo_codes_active_code',
        'catalog.redemptions_moves',
      ],
      tests: discounts(
        'that contradicts itself is refused at the field',
        'that was deleted takes no redemption, but stays readable',
        'shows its coupon populated, and is found by code, coupon, customer and state',
        'is unique among active ones, case-insensitively, per account and mode',
        'of a code with ten left, a hundred at once: ten succeed',
        'counts a coupon once for a session, however often it is listed and whatever is repeated',
        'is given back once when it is released, and never when it is final',
        'of a code that has expired by the session’s own time, is inactive, or is another customer’s is refused',
      ),
    },
    {
      quote: '`percent_off` is a whole percent: 30 means 30 %;',
      contract: ['resources/coupon.ts#renderCoupon', 'routes/coupons.ts#percentOff'],
      answers: 'coupon',
      database: ['catalog.coupons_percent_range'],
      tests: [
        ...rendering('a promo code reports a whole percent and what its coupon applies to'),
        ...shared('coupons take a percent of more than 0, at most 100, with two decimals at most'),
      ],
    },
    {
      quote: '`applies_to` is populated),',
      contract: ['resources/coupon.ts#renderCoupon', 'routes/coupons.ts#appliesTo'],
      answers: 'coupon',
      code: catalog('domain/coupon.ts#appliesToSome'),
      database: ['catalog.coupons_one_restriction'],
      tests: [
        ...rendering('a promo code reports a whole percent and what its coupon applies to'),
        ...discounts('takes an amount or a percentage off, for once by default, and is read back whole'),
      ],
    },
    {
      quote: 'eligibility,',
      contract: ['eligibility.evaluate', 'resources/eligibility.ts#renderEvaluatedItem'],
      code: catalog(
        'actions/evaluate-eligibility.ts#evaluateEligibility',
        'domain/eligibility.ts#decideEligibility',
        'domain/food-policy.ts#judgeFood',
        'domain/product-code.ts#lookupCodes',
      ),
      database: ['catalog.product_codes_current', 'catalog.product_codes_gtin', 'catalog.food_policies_immutable'],
      tests: [
        ...eligibility(
          'by the price first, then the product, the product-code list and the food policy, and else by nothing',
          'by the code that a product refers to where its own is not on the list',
          'alike for a question and for a cart',
          'is the whole of an eligible item, nothing of another, and absent where nothing says what it costs',
          'is off unless the account has food_eligibility',
          'passes a product when every component is within every threshold, exactly',
          'of an account goes before the default, by category, and its versions answer as of their time',
        ),
        ...codeImport(
          'is a GTIN of 8, 12, 13 or 14 digits with a right check digit, whatever stands between them',
          'makes versions, of which a re-import changes only what changed',
          'keeps the versions, so that a question as of then has the answer of then',
        ),
      ],
    },
    {
      quote: [
        'customers, payment methods, payment intents, setup intents, charges,',
        'webhook endpoints and events: decisions 5.',
      ],
      aside: 'other resources',
    },
    {
      quote: '`POST /v1/payment_intents/{id}/capture` † is deprecated.',
      aside: 'not served yet; what deprecated endpoints answer: Versioning',
    },
  ],
};

/** The endpoints of the catalog. */
export const endpointSections = [endpoints, shippingRateEndpoints, componentEndpoints, priceEndpoints, otherEndpoints];
