import { placesIn, type Section, testsIn } from '../rule.ts';
import {
  answers,
  byHand,
  components,
  confirmTable,
  errorCodes,
  input,
  priceList,
  probes,
  rateLimits,
  refusals,
  rendering,
  routeTable,
  shared,
} from './tests.ts';

const gateway = placesIn('gateway/src');
const document = 'interface.md';

const authentication: Section = {
  document,
  heading: 'Authentication',
  rules: [
    {
      quote: 'Every request carries `Authorization: Bearer <API key>`.',
      code: gateway('http/authenticate.ts#Authenticator', 'accounts/key-format.ts#isKey'),
      tests: [
        ...probes('every route refuses a missing, malformed and unknown key by one 401'),
        ...refusals('with a wrong check make no query'),
      ],
    },
    {
      quote: 'The key identifies the account; records are scoped to it.',
      code: [...gateway('accounts/key-cache.ts#KeyCache'), 'packages/postgres/src/scope.ts#scopePolicy'],
      database: ['gateway.api_keys_key_hash_key', 'gateway.api_keys_account_id_fkey'],
      tests: [
        ...refusals('its request id travels to the peers with the caller'),
        ...probes('every route answers the owner of a record and refuses everybody else by byte-equal 404s'),
      ],
    },
    {
      quote: 'Test keys work in test mode.',
      code: gateway('accounts/key-format.ts#newKey'),
      tests: errorCodes('403 test_mode_required'),
    },
    {
      quote: 'Reading a file needs the scope `files_read`.',
      contract: ['routes.ts#scopes', 'routes.ts#scopeOf'],
      tests: routeTable('scopes are read and write of each resource; a colon is accepted'),
    },
    { quote: 'A connector for AI tools accepts OAuth or a key.', aside: 'not served yet' },
    {
      quote: 'Missing or invalid credentials are 401, insufficient permission 403.',
      contract: ['route.ts#Route'],
      code: gateway('http/authenticate.ts#Authenticator', 'http/authorize.ts#authorize'),
      tests: [
        ...probes(
          'every route refuses a missing, malformed and unknown key by one 401',
          'every route refuses a key without its scope, and test helpers a live key, by 403',
        ),
        ...refusals(
          'are refused when they are expired, as unknown ones are',
          'that are revoked end on every gateway within 5 s',
        ),
      ],
    },
  ],
};

const confirmStatuses: readonly (readonly [quote: string, ...titles: string[]])[] = [
  [
    '400 | `idempotency_key_required`, `checkout_session_already_processed`, `checkout_session_expired`, `checkout_session_canceled`',
    '400 idempotency_key_required',
    '400 checkout_session_already_processed',
    '400 checkout_session_expired',
    '400 checkout_session_canceled',
  ],
  [
    '404 | `checkout_session_not_found`, `payment_method_not_found`, `customer_not_found`, `eligibility_record_not_found`, `food_eligibility_not_enabled`',
    '404 checkout_session_not_found',
    '404 payment_method_not_found',
    '404 customer_not_found when the customer was deleted since creation',
    '404 eligibility_record_not_found for a session without lines',
    '404 food_eligibility_not_enabled once the account has lost the feature',
  ],
  [
    '409 | `eligibility_record_already_charged`, `idempotency_key_reused`',
    '409 eligibility_record_already_charged while the page holds the health card’s part',
    '409 idempotency_key_reused',
  ],
  [
    '422 | `manual_capture_not_supported`, `payment_method_not_off_session`',
    '422 manual_capture_not_supported, before money moves',
    '422 payment_method_not_off_session',
  ],
  [
    '503 | `idempotency_key_in_use`, `lock_timeout`: passing contention; retry unchanged with the same key',
    '503 idempotency_key_in_use and lock_timeout while a charge is under way',
  ],
  [
    '402 | a decline, with `code` and `decline_code`; `authentication_required` is one and is terminal',
    '402 for the card %s, and the same again for its key',
  ],
];

const errors: Section = {
  document,
  heading: 'Errors',
  rules: [
    {
      quote: 'A refusal is `{code, detail}`.',
      code: ['packages/failures/src/failure.ts#failureAnswer', 'packages/failures/src/table.ts#failureTable'],
      tests: [
        ...refusals('a refusal crosses as it is', 'anything else is a 500 without its text, and is logged'),
        ...byHand('%s is refused in the contract’s shape'),
        ...errorCodes('404 %s', '404 not_found and 405 method_not_allowed'),
      ],
    },
    {
      quote: "What is wrong with a request's fields is 422 `{detail: [{loc, msg, type}]}`.",
      contract: ['violations.ts#violationsOf', 'screen.ts#screen'],
      code: ['packages/failures/src/failure.ts#Failure', ...gateway('http/intake.ts#intakeOf')],
      tests: [
        ...refusals('what is wrong with body and query is told in one list'),
        ...answers('a bad reference in a body is a 422 whose first entry names it'),
        ...input(
          'a bad reference names itself by its code, and echoes only what is an id of ours',
          'they are refused in any field, in keys and in metadata, but not in product codes, phones and ids',
        ),
        ...errorCodes('422 validation_error as the list of what is wrong, a card number among it'),
      ],
    },
    {
      quote: 'On every endpoint: 401, 403, 404, 409, 422, 429.',
      contract: ['openapi.ts#codesOf'],
      tests: [
        ...errorCodes('401 unauthorized', '403 insufficient_scope', '404 %s', '429 rate_limited'),
        ...refusals('a path that names nothing goes before a body that is wrong'),
        ...rateLimits(
          'let a burst of four seconds through and then the rate; the headers say how much is left',
          'bound failed authentications by address, and leave good keys alone',
        ),
      ],
    },
    {
      quote:
        'Product components: 409 for one that is registered already, and for a `client_reference_id` on another component.',
      contract: ['product_components.create', 'product_components.update'],
      database: ['catalog.component_nutrition_registered_once', 'catalog.component_nutrition_client_reference'],
      tests: [
        ...errorCodes('409 component_already_registered and client_reference_id_in_use'),
        ...components('registered twice by one account is the first 409'),
      ],
    },
    { quote: 'Confirm:', aside: 'the table follows' },
    ...confirmStatuses.map(([quote, ...titles]) => ({
      quote,
      contract: ['checkout_sessions.confirm'],
      code: ['services/checkout/src/domain/confirm-rules.ts#refusalToConfirm'],
      tests: confirmTable(...titles),
    })),
    {
      quote: 'A `custom` refund without a positive `refund_amount` is invalid.',
      contract: ['subscriptions.cancel'],
      asks: 'subscriptions.cancel',
      tests: shared('a custom refund of a subscription needs a positive amount'),
    },
    {
      quote: 'Unknown `expand` keys are no errors.',
      contract: ['expansion.ts#expandKeysOf'],
      tests: answers('of unknown keys gives the same bytes as none'),
    },
  ],
};

const limits: Section = {
  document,
  heading: 'Limits',
  rules: [
    {
      quote: '`limit` 1 to 100, 10 by default (20 on `GET /v1/invoices`);',
      contract: ['query.ts#listQuery', 'limits.ts#limits'],
      tests: [
        ...shared(
          'every list takes limit, offset and both cursors: 10 at once by default, 20 invoices, and at most 100',
        ),
        ...input('limit=%s', 'limit=%s is refused'),
      ],
    },
    {
      quote: 'up to 10 `lookup_keys`;',
      contract: ['limits.ts#limits'],
      asks: 'prices.list',
      tests: [
        ...input('arrays in a query: brackets, indexes or the name repeated'),
        ...priceList('rule 5: matches any of the lookup keys against the price’s own'),
      ],
    },
    {
      quote: 'a confirm charges 50 cents or nothing, and needs an `Idempotency-Key`.',
      contract: ['checkout_sessions.confirm'],
      code: [
        'services/checkout/src/domain/payment-plan.ts#minimumChargeCents',
        ...gateway('http/idempotency.ts#idempotencyOf'),
      ],
      tests: [
        ...testsIn('services/checkout/test/confirm-session.test.ts')(
          'charges nothing below 50 cents: 200, complete, payment_intent null',
        ),
        ...confirmTable('400 idempotency_key_required'),
      ],
    },
    { quote: 'More in decisions 10.', aside: 'where to read on' },
  ],
};

const versioning: Section = {
  document,
  heading: 'Versioning',
  rules: [
    {
      quote: 'This is version 0.1.0 of the interface; all paths begin with `/v1`.',
      contract: ['openapi.ts#openapi', 'routes.ts#allRoutes'],
      tests: [
        ...routeTable('is under /v1; a test helper takes test keys only, and nothing else does'),
        ...shared('the description is of version 0.1.0'),
      ],
    },
    {
      quote: '`POST /v1/payment_intents/{id}/capture` is replaced by `POST /v1/checkout/sessions/{id}/capture`,',
      aside: 'neither is served yet',
    },
    {
      quote: 'and `POST /v1/refunds` by `POST /v1/checkout/sessions/{id}/refund`; both old ones end with June 2026.',
      contract: ['refunds.create', 'route.ts#Deprecation', 'checkout_sessions.refund'],
      code: gateway('mount.ts#mount', 'http/authorize.ts#authorize'),
      tests: [
        ...refusals('says that it is, until when, and what replaces it', 'can be turned off, and is then gone'),
        ...routeTable('the deprecated endpoint says since when, until when and what replaces it'),
      ],
    },
    {
      quote: 'Promo codes report `percent_off` as a whole percent and populate `applies_to`;',
      contract: ['resources/promo-code.ts#renderPromoCode'],
      answers: 'coupon',
      tests: rendering('a promo code reports a whole percent and what its coupon applies to'),
    },
    {
      quote: [
        'subscriptions carry `canceled_at`,',
        'invoices `paid_at`;',
        'sessions take `trial_end` and `fees`;',
        'shipping options carry `display_name`;',
        'a card shows its `funding`.',
      ],
      contract: [
        'resources/subscription.ts#renderSubscription',
        'resources/invoice.ts#renderInvoice',
        'checkout_sessions.create',
        'resources/checkout-session.ts#renderCheckoutSession',
        'resources/payment-method.ts#renderPaymentMethod',
      ],
      tests: [
        ...rendering('a message with every field set renders to its schema, strictly'),
        ...answers('a session with everything reaches checkout whole'),
      ],
    },
    {
      quote: [
        '`balance_transaction` expands on charge, refund, payout and dispute †;',
        '`setup_future_use` on payment links †;',
      ],
      aside: 'not served yet',
    },
  ],
};

/** Who may ask, how requests are refused, how much may be asked at once, and what changes. */
export const edgeSections = [authentication, errors, limits, versioning];
