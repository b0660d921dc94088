import { placesIn, type Section } from '../rule.ts';
import {
  answers,
  confirmTable,
  errorCodes,
  guards,
  ids,
  input,
  isolation,
  priceList,
  prices,
  probes,
  readPage,
  refusals,
  rendering,
  routeTable,
  shared,
  shippingRates,
} from './tests.ts';

const gateway = placesIn('gateway/src');
const postgres = placesIn('packages/postgres/src');
const document = 'interface.md';

const introduction: Section = {
  document,
  heading: 'The public interface',
  rules: [
    {
      quote: 'The contract that everything is checked against: what partners may rely on, as Eligo serves it.',
      aside: 'what the page is',
    },
    {
      quote:
        'What it leaves open is settled in [decisions.md](decisions.md), whose numbers the code cites; where the two disagree, this page wins.',
      aside: 'how the two pages stand to each other',
    },
    {
      quote:
        'For machines: [openapi.json](../openapi.json), generated from `packages/contract` and served at `/v1/openapi.json`.',
      contract: ['openapi.ts#openapi'],
      code: gateway('pages.ts#openPages'),
      tests: [
        ...routeTable(
          'describes every route once',
          'is valid to an independent linter',
          'is the committed one; `npm run -w @eligo/contract openapi` writes it',
        ),
      ],
    },
    { quote: '† marks what is part of the contract and not served yet.', aside: 'how to read the page' },
    {
      quote: "Base address of every endpoint: the gateway's.",
      contract: ['routes.ts#allRoutes'],
      code: gateway('routes/index.ts#allBindings', 'mount.ts#mount'),
      tests: probes('every answer parses with its schema, strictly, with and without expansion'),
    },
    {
      quote: 'Bodies are JSON (`Content-Type: application/json`).',
      code: gateway('http/read-body.ts#readBody', 'http/write-answer.ts#writeJson'),
      tests: [
        ...errorCodes('400 invalid_json, 413 payload_too_large and 415 unsupported_media_type'),
        ...refusals('is JSON, and the body of a read is the same for HEAD but for the body'),
        ...answers('an empty body is JSON for a client that cannot bear less: DELETE answers the record'),
      ],
    },
  ],
};

const generalRules: Section = {
  document,
  heading: 'General rules',
  rules: [
    {
      quote: 'Every endpoint works for the partner account of the key that calls it.',
      code: [
        ...gateway('http/authenticate.ts#Authenticator'),
        ...postgres('statement.ts#scoped', 'scope.ts#scopePolicy'),
      ],
      database: [
        'catalog.account_scope on prices',
        'catalog.account_scope on products',
        'catalog.account_scope on coupons',
      ],
      tests: [
        ...probes('every route answers the owner of a record and refuses everybody else by byte-equal 404s'),
        ...isolation('only rows of the account and mode are seen, whatever the statement asks for'),
        ...guards('alone shows a statement that forgets the account nothing of another, and nothing without a context'),
      ],
    },
    {
      quote: 'Test keys work in test mode.',
      contract: ['route.ts#Route'],
      code: gateway('accounts/key-format.ts#newKey', 'http/authenticate.ts#Authenticator'),
      tests: [
        ...probes('every route answers the owner of a record and refuses everybody else by byte-equal 404s'),
        ...errorCodes('403 test_mode_required'),
      ],
    },
    {
      quote: 'Records carry a boolean `test_mode`.',
      contract: ['records.ts#records'],
      tests: shared('%s says in which mode it was made'),
    },
    {
      quote: 'Amounts are whole cents, charged in USD.',
      contract: ['fields.ts#amount', 'fields.ts#sum'],
      code: ['packages/values/src/cents.ts#cents'],
      database: ['catalog.prices_amount_range', 'catalog.shipping_rates_amount_range', 'catalog.coupons_amount_range'],
      tests: [
        ...input('an amount of %s is refused'),
        ...prices('with an amount below zero or beyond the safe integers is refused, and the table refuses it too'),
      ],
    },
    {
      quote: [
        'One object is wrapped under its name, in requests and answers: `{"price": {…}}`.',
        'Lists are wrapped under the plural: `{"prices": […]}`, and carry `has_more`.',
      ],
      contract: ['answers.ts#oneOf', 'answers.ts#listOf', 'route.ts#RouteBody'],
      code: gateway('answers.ts#Answers'),
      tests: shared(
        'an answer stands under the name of its record; a list stands under the plural, and says whether there are more',
        'a list shows the plural with has_more wherever a page can be asked for',
      ),
    },
    {
      quote: 'Times are ISO 8601 strings.',
      contract: ['times.ts#isoTime', 'times.ts#parseTime'],
      tests: [
        ...shared('%s has a time of creation in ISO 8601, but for a session’s'),
        ...input('%s is %s', '%s is no time', 'Unix seconds must be whole'),
      ],
    },
    {
      quote: 'On a checkout session `created_at`, `expires_at` and `renewal_as_of` are Unix seconds.',
      contract: ['times.ts#unixSeconds'],
      answers: 'checkout_session',
      tests: [
        ...rendering('a session carries Unix seconds, truncated, and everything else ISO 8601'),
        ...shared('a session’s renewal is in Unix seconds'),
      ],
    },
    {
      quote: 'Metadata is an object of strings under strings.',
      contract: ['fields.ts#metadata', 'query.ts#metadataFilter'],
      database: ['catalog.prices_metadata_is_object', 'catalog.products_metadata_is_object'],
      tests: input(
        'metadata: 50 keys of 40 characters, values of 500, strings only',
        '[] stands for an empty object where an object is meant, and for itself where a list is',
      ),
    },
    {
      quote: [
        'An identifier is a prefix and an opaque text, `<prefix>_…`:',
        '`facct` | partner account | `fsub` | subscription | `fsh` | shipping address',
        '`fshr` | shipping rate | `fsubi` | subscription item | `fsplit` | split cart',
        '`fcomp` | product component | `fin` | invoice | `ffee` | fee',
        '`fcn` | component nutrition | `fch` | charge | `fdi` | discount',
        '`fprod` | product | `fcap` | capture | `fcoup` | coupon',
        '`fprice` | price | `fdp` | dispute | `fpromo` | promo code',
        '`fcs` | checkout session | `fre` | refund | `fbtxn` | balance transaction',
        '`fpi` | payment intent | `fseti` | setup intent | `ffile` | file',
        '`fpm` | payment method | `fcus` | customer | |',
      ],
      contract: ['fields.ts#idOf', 'fields.ts#reference'],
      code: ['packages/values/src/ids.ts#idPrefixes', 'packages/values/src/ids.ts#newId'],
      tests: ids(
        'prefixes are those of the interface',
        'is the prefix and 26 lowercase base32 characters',
        'strictly increases within the process',
      ),
    },
    {
      quote:
        'Expansion: any request may carry `expand` (a comma-separated list), and an expandable field is also expanded by `expand_<object>=true`.',
      contract: ['expansion.ts#expandKeysOf', 'expansion.ts#expansionNames'],
      code: gateway('expand/expand.ts#expand', 'expand/fetch-references.ts#fetchReferences'),
      tests: answers(
        'takes expand_<type>=true, and combines it with a list',
        'makes one batch call per record type, whatever the number of rows',
      ),
    },
    {
      quote: 'Several combine; an expansion holds for that answer alone.',
      contract: ['expansion.ts#expansionOf', 'expansion.ts#noExpansion'],
      tests: [
        ...answers('takes expand_<type>=true, and combines it with a list'),
        ...shared('an expansion holds for one answer: the next shows the identifier again'),
      ],
    },
    {
      quote: 'The expanded record stands in place of its identifier.',
      contract: ['expansion.ts#expandable', 'expansion.ts#expandsTo'],
      tests: [
        ...rendering('an expanded record stands in place of its id, and parses with the schema'),
        ...answers('shows the identifier of what is not found'),
        ...probes('every answer parses with its schema, strictly, with and without expansion'),
      ],
    },
    {
      quote: 'Unknown keys are ignored.',
      contract: ['expansion.ts#expandKeysOf'],
      tests: answers('of unknown keys gives the same bytes as none'),
    },
    {
      quote:
        'Lists are paged by cursor: `starting_after=<id>` is the page after that record, `ending_before=<id>` the page before it.',
      contract: ['query.ts#listQuery'],
      code: [...postgres('read-page.ts#readPage'), 'services/catalog/src/store/page.ts#readPage'],
      tests: [
        ...readPage(
          'is the rows next to its cursor, newest first, and says whether there are more',
          'with %s of nobody, or of another account, is a 422 at its place',
          'with both cursors is a 422',
        ),
        ...priceList('rule 7: pages by limit, offset and both cursors, with every filter, and expands the product'),
        ...input('both cursors at once are refused at the second'),
      ],
    },
    {
      quote: '`limit` and `offset` are accepted too.',
      contract: ['query.ts#listQuery', 'query.ts#integer'],
      tests: [
        ...shared(
          'every list takes limit, offset and both cursors: 10 at once by default, 20 invoices, and at most 100',
        ),
        ...input('limit=%s is refused'),
        ...probes(
          'no bad input of the corpus gives a 5xx on any route, and every refusal has the shape of the contract',
        ),
      ],
    },
  ],
};

const states: Section = {
  document,
  heading: 'States and transitions',
  rules: [
    {
      quote:
        '**Shipping rate states**: `PUT` with `active=false` archives, with `active=true` revives; metadata is overwritten each time, and cleared when left out.',
      contract: ['shipping_rates.update'],
      code: [
        'services/catalog/src/actions/update-shipping-rate.ts#updateShippingRate',
        'services/catalog/src/store/shipping-rates.ts#updateShippingRate',
      ],
      tests: shippingRates(
        'is archived and revived by PUT, which overwrites metadata and clears it when it is left out',
      ),
    },
    {
      quote: '**Checkout session**: a confirm is refused once the session is processed, expired or canceled.',
      contract: ['checkout_sessions.confirm'],
      code: ['services/checkout/src/domain/confirm-rules.ts#refusalToConfirm'],
      tests: confirmTable(
        '400 checkout_session_already_processed',
        '400 checkout_session_expired',
        '400 checkout_session_canceled',
      ),
    },
    { quote: 'The transitions are in decisions 7.', aside: 'where to read on' },
    {
      quote:
        '**Cancel subscription**, `DELETE /v1/subscriptions/{id}`: without `cancel_at_period_end` it is canceled at once, with an optional refund as an operation of its own; with it, it stays active until the end of its period.',
      aside: 'a subscription: `e2e/test/test-clocks.test.ts`, `services/billing/src/domain/cancellation.test.ts`',
    },
    {
      quote: '**Refund**: begins `pending`, which the first answer may still show; later states come as events.',
      aside: 'a refund: `services/refunds/test/refund-session.test.ts`',
    },
  ],
};

/** What every resource shares. */
export const generalSections = [introduction, generalRules, states];
