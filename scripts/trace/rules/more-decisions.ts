import { decisionsIn, placesIn, testsIn } from '../rule.ts';
import {
  answers,
  carts,
  codeImport,
  components,
  discounts,
  eligibility,
  failures,
  ids,
  input,
  lists as listTests,
  prices,
  rateLimits,
  readPage,
  refusals,
  shared,
} from './tests.ts';

const catalog = placesIn('services/catalog/src');
const gateway = placesIn('gateway/src');
const abandoned = testsIn('services/catalog/test/abandoned-inline.test.ts');
const bodyReferences = testsIn('gateway/test/body-references.test.ts');
const races = testsIn('e2e/test/catalog-races.in-process.test.ts');

const lists = decisionsIn('3. Identifiers, lists, expansion', [
  {
    quote: 'strictly increasing within a process by a random step: a step of one could be guessed.',
    code: ['packages/values/src/ids.ts#idBodies'],
    tests: ids('increases whatever the clock does, and by more than one'),
  },
  {
    quote: 'both cursors are a 422;',
    contract: ['query.ts#listQuery'],
    tests: [...input('both cursors at once are refused at the second'), ...readPage('with both cursors is a 422')],
  },
  {
    quote: 'Every list carries `has_more`.',
    contract: ['answers.ts#listOf'],
    tests: [
      ...shared('a list shows the plural with has_more wherever a page can be asked for'),
      ...listTests('says whether there are more, as its owner does'),
    ],
  },
  {
    quote: '`expand` is one level deep (and `discounts,coupons`); unknown keys are ignored.',
    contract: ['expansion.ts#expansionOf'],
    code: gateway('expand/expand.ts#expand'),
    tests: answers('of unknown keys gives the same bytes as none'),
  },
]);

const records = decisionsIn('4. Records whose fields the interface does not show', [
  {
    quote: 'or null, which counts as not eligible.',
    code: catalog('domain/eligibility.ts#decideEligibility'),
    tests: eligibility(
      'is the whole of an eligible item, nothing of another, and absent where nothing says what it costs',
    ),
  },
]);

const served = decisionsIn('5. Endpoints beyond those that the interface shows', [
  {
    quote: 'Coupons, promo codes | `POST`, `GET`, `GET /{id}`; `PATCH /v1/promo_codes/{id}`;',
    contract: ['coupons.create', 'coupons.list', 'coupons.get', 'promo_codes.create', 'promo_codes.update'],
    code: gateway('routes/coupons.ts#couponBindings', 'routes/promo-codes.ts#promoCodeBindings'),
    tests: discounts(
      'takes an amount or a percentage off, for once by default, and is read back whole',
      'shows its coupon populated, and is found by code, coupon, customer and state',
    ),
  },
]);

const limits = decisionsIn('10. Limits and errors', [
  {
    quote: 'Body ≤ 1 MiB, JSON depth ≤ 32, header block ≤ 16 KiB, 10 `lookup_keys`, 100 lines.',
    contract: ['limits.ts#limits'],
    code: gateway('http/read-body.ts#readBody'),
    tests: [
      ...refusals('is refused while it arrives when it announces none', 'is accepted up to the limit'),
      ...input('more depth than the limit, without exhausting the stack'),
    ],
  },
  {
    quote: '100 requests a second live and 25 test per key by default;',
    code: gateway('http/rate-limiter.ts#burstSeconds'),
    tests: rateLimits('lets %i a second through over a minute, and four seconds of it at once'),
  },
  {
    quote: 'in any field but product codes, phones and ids, and in any depth of metadata.',
    contract: ['screen.ts#isCardNumber'],
    tests: input('they are refused in any field, in keys and in metadata, but not in product codes, phones and ids'),
  },
]);

const finer = decisionsIn('13. Finer points', [
  {
    quote: '`loc` is an array of strings.',
    contract: ['violations.ts#violationsOf'],
    tests: failures('of a field is a list and has no code'),
  },
  {
    quote:
      "A path that names nothing goes before a body that is wrong, so the record is looked up before the 422 is told (confirm's body goes first).",
    code: gateway('presence.ts#assertPresent'),
    tests: refusals(
      'a path that names nothing goes before a body that is wrong',
      'a confirm judges its header and body before it looks for the session',
    ),
  },
  {
    quote: '**Catalog writes** take `hsa_fsa_eligibility` and `active` on creation too:',
    contract: ['prices.create', 'products.create'],
    code: catalog('domain/price.ts#newPriceFields'),
    tests: prices('takes on the class of its product where its own is unset, also when the product changes later'),
  },
  {
    quote: 'An archived price in a session is `price_not_found`.',
    code: catalog('actions/resolve-cart.ts#resolveCart'),
    tests: carts('names every bad reference at its place, and echoes only ids of ours'),
  },
]);

const settled = decisionsIn('14. What building it settled', [
  {
    quote: '**Food that passes is `auto_substantiation`** by the default policy,',
    code: catalog('domain/food-policy.ts#judgeFood'),
    tests: eligibility('passes a product when every component is within every threshold, exactly'),
  },
  {
    quote: '**A discount that applies to no line is refused** (`coupon_not_applicable`):',
    code: catalog('actions/resolve-discounts.ts#resolveDiscounts'),
    tests: carts('that cannot be used is refused at its place'),
  },
  {
    quote: '`shared` is fixed at registration.',
    code: catalog('actions/create-component.ts#createComponent'),
    tests: components('is one for all accounts, whatever its case and form, each with nutrition of its own'),
  },
  {
    quote: '**A price that is sent back as it was shown goes on following its product.**',
    code: catalog('actions/update-price.ts#updatePrice'),
    tests: prices('that is sent back whole goes on following its product, until it is given a class of its own'),
  },
  {
    quote: "A coupon's `applies_to` names products or prices, not both.",
    code: catalog('domain/coupon.ts#newCouponFields'),
    tests: discounts('that contradicts itself is refused at the field'),
  },
  {
    quote: "**A refusal's `detail` says what happened and what to do about it**:",
    code: ['packages/failures/src/failure.ts#failureAnswer'],
    tests: failures('is answered with its code, what happened and what to do about it'),
  },
  {
    quote: '**A product-code list without one usable line is refused** and changes nothing:',
    code: catalog('import/product-codes.ts#importProductCodes'),
    tests: codeImport('that cannot be read leaves the list as it was'),
  },
  {
    quote:
      '**A product-code version takes effect when its import ends**, a food policy when it is made, or later and never before:',
    code: catalog('store/product-code-import.ts#publishStaged', 'store/eligibility-sources.ts#insertFoodPolicy'),
    database: ['catalog.product_code_versions_not_backdated', 'catalog.food_policies_not_backdated'],
    tests: eligibility(
      'stays as of its moment, also when the next list was being read then',
      'takes effect when it is made at the earliest',
    ),
  },
  {
    quote: '**A line of a product-code list with more fields than the first line is rejected and told**:',
    code: catalog('import/product-code-rows.ts#rowReader'),
    tests: codeImport('rejects a line that a stray quote has joined with the next ones, and says so'),
  },
  {
    quote: 'Eight digits are a GTIN-8 in a column named `gtin`, and a UPC-E in another if they check as one.',
    code: catalog('import/product-code-rows.ts#rowReader', 'domain/product-code.ts#gtin14OfUpc'),
    tests: codeImport(
      'reads eight digits as a GTIN-8 under gtin, and under another name as a UPC-E if they check as one',
    ),
  },
  {
    quote: '**Every id that a body names is looked up**,',
    code: gateway('body-references.ts#namedInBody'),
    tests: bodyReferences('the customer of a promo code, whom another service keeps, and nothing is made'),
  },
  {
    quote:
      '**Products, prices and coupons of a session that never came to be** are removed 45 days after they were made,',
    code: catalog('jobs/remove-abandoned-inline.ts#removeAbandonedInline'),
    database: [
      'catalog.coupons_deleted_pending',
      'catalog.coupons_pending_is_unused',
      'catalog.prices_deleted_pending',
      'catalog.products_deleted_pending',
    ],
    tests: [
      ...abandoned(
        'is removed after forty-five days, whole, and not before',
        'is removed after forty-five days and not before, and is made again by the same session',
        'stays when it was ever counted, whatever became of that',
      ),
      ...races('makes an inline product once when its session is created by twenty requests under one key'),
    ],
  },
]);

/** Further decisions about the catalog and about what every resource shares. */
export const moreDecisions = [lists, records, served, limits, finer, settled];
