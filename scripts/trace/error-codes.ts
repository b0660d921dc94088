import { allRoutes, codesOf } from '@eligo/contract';
import { type FailureCode, failureTable } from '@eligo/failures';
import { readSource } from './repository.ts';
import { type TestName, testsIn } from './rule.ts';
import { confirmTable, errorCodes, refusals } from './rules/tests.ts';
import { missingTests } from './verify.ts';

/** What is wrong with the tests of error codes: a declared code that no test reaches by a public request, or a test that does not hold it. */
export function codeFlaws(): string[] {
  const declared = declaredCodes();
  return [
    ...[...declared.keys()].filter((code) => reachedBy[code] === undefined).map((code) => `no test reaches ${code}`),
    ...(Object.keys(reachedBy) as FailureCode[]).flatMap((code) => {
      const tests = reachedBy[code] ?? [];
      const silent = tests.filter(({ file }) => !new RegExp(`\\b${code}\\b`).test(readSource(file) ?? ''));
      return [...missingTests(tests), ...silent.map(({ file }) => `${file} does not hold ${code}`)];
    }),
  ];
}

/** The page of all codes that a route declares: status, text, remedy, where they occur and which test reaches them. */
export function codesPage(): string {
  const declared = declaredCodes();
  const others = (Object.keys(failureTable) as FailureCode[]).filter((code) => !declared.has(code));
  return [
    '# Error codes',
    '',
    'Every code that an endpoint declares, what it says, what to do about it, and the test in which a public request is answered with it. A coded',
    'refusal is `{code, detail}`; a code that stands in a 422 list is the `type` of an entry. Written by `npm run trace`; `npm run check` fails when',
    'a declared code has no such test.',
    '',
    '| Code | Status | It says | What to do | Ask again | On | Test |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...[...declared].sort(byStatus).map(([code, routes]) => row(code, routes)),
    '',
    '## Not declared by an endpoint',
    '',
    'Answers to what is no request of the contract, faults of ours, and codes of endpoints that are not served yet:',
    `${others.map((code) => `\`${code}\` (${failureTable[code].status})`).join(', ')}.`,
    '',
  ].join('\n');
}

const advice = { never: 'no', after_change: 'after a change', same_request: 'yes, unchanged' } as const;

function row(code: FailureCode, routes: readonly string[]): string {
  const { status, detail, remedy, retry } = failureTable[code];
  const places = routes.length > 4 ? `${routes.length} endpoints` : routes.map((id) => `\`${id}\``).join(', ');
  const tests = (reachedBy[code] ?? []).map(({ file, title }) => `\`${file}\` “${title}”`).join('; ');
  return `| \`${code}\` | ${status} | ${detail} | ${remedy} | ${advice[retry]} | ${places} | ${tests} |`;
}

function byStatus([a]: [FailureCode, unknown], [b]: [FailureCode, unknown]): number {
  return failureTable[a].status - failureTable[b].status || (a < b ? -1 : 1);
}

function declaredCodes(): Map<FailureCode, string[]> {
  const declared = new Map<FailureCode, string[]>();
  for (const route of allRoutes) {
    for (const code of new Set<FailureCode>([...codesOf(route), ...route.violations])) {
      declared.set(code, [...(declared.get(code) ?? []), route.id]);
    }
  }
  return declared;
}

// By the test's title, the codes that it reaches.
const reaches: readonly (readonly [test: readonly TestName[], ...codes: FailureCode[]])[] = [
  [errorCodes('401 unauthorized'), 'unauthorized'],
  [errorCodes('403 insufficient_scope'), 'insufficient_scope'],
  [errorCodes('403 test_mode_required'), 'test_mode_required'],
  [errorCodes('429 rate_limited'), 'rate_limited'],
  [errorCodes('404 not_found and 405 method_not_allowed'), 'not_found', 'method_not_allowed'],
  [
    errorCodes('400 invalid_json, 413 payload_too_large and 415 unsupported_media_type'),
    'invalid_json',
    'payload_too_large',
    'unsupported_media_type',
  ],
  [
    errorCodes('422 validation_error as the list of what is wrong, a card number among it'),
    'validation_error',
    'card_number_not_allowed',
  ],
  [
    errorCodes('404 %s'),
    'shipping_rate_not_found',
    'product_component_not_found',
    'product_not_found',
    'price_not_found',
    'coupon_not_found',
    'promo_code_not_found',
    'customer_not_found',
    'payment_method_not_found',
    'payment_intent_not_found',
    'setup_intent_not_found',
    'charge_not_found',
    'checkout_session_not_found',
    'refund_not_found',
    'subscription_not_found',
    'invoice_not_found',
    'webhook_not_found',
    'event_not_found',
    'test_clock_not_found',
  ],
  [
    errorCodes('409 component_already_registered and client_reference_id_in_use'),
    'component_already_registered',
    'client_reference_id_in_use',
  ],
  [errorCodes('409 lookup_key_in_use'), 'lookup_key_in_use'],
  [
    errorCodes('409 promo_code_in_use, 422 promo_code_invalid and coupon_not_applicable'),
    'promo_code_in_use',
    'promo_code_invalid',
    'coupon_not_applicable',
  ],
  [errorCodes('422 price_required'), 'price_required'],
  [errorCodes('422 customer_required'), 'customer_required'],
  [errorCodes('400 checkout_amount_too_low'), 'checkout_amount_too_low'],
  [errorCodes('400 checkout_session_not_open'), 'checkout_session_not_open'],
  [errorCodes('409 payment_method_in_use, and conflict once it is used up'), 'payment_method_in_use', 'conflict'],
  [
    errorCodes('503 processor_not_configured for a live charge, before anything is written'),
    'processor_not_configured',
  ],
  [errorCodes('422 checkout_session_not_captured'), 'checkout_session_not_captured'],
  [
    errorCodes('422 refund_amount_exceeds_remaining, refund_amount_invalid; 403 payment_method_allocation_not_enabled'),
    'refund_amount_exceeds_remaining',
    'refund_amount_invalid',
    'payment_method_allocation_not_enabled',
  ],
  [errorCodes('422 payment_intent_not_succeeded'), 'payment_intent_not_succeeded'],
  [errorCodes('409 refund_not_pending'), 'refund_not_pending'],
  [errorCodes('422 webhook_url_not_allowed'), 'webhook_url_not_allowed'],
  [confirmTable('400 idempotency_key_required'), 'idempotency_key_required'],
  [confirmTable('400 checkout_session_already_processed'), 'checkout_session_already_processed'],
  [confirmTable('400 checkout_session_expired'), 'checkout_session_expired'],
  [confirmTable('400 checkout_session_canceled'), 'checkout_session_canceled'],
  [confirmTable('404 eligibility_record_not_found for a session without lines'), 'eligibility_record_not_found'],
  [
    confirmTable('404 food_eligibility_not_enabled once the account has lost the feature'),
    'food_eligibility_not_enabled',
  ],
  [
    confirmTable('409 eligibility_record_already_charged while the page holds the health card’s part'),
    'eligibility_record_already_charged',
  ],
  [confirmTable('409 idempotency_key_reused'), 'idempotency_key_reused'],
  [confirmTable('422 manual_capture_not_supported, before money moves'), 'manual_capture_not_supported'],
  [confirmTable('422 payment_method_not_off_session'), 'payment_method_not_off_session'],
  [
    confirmTable('503 idempotency_key_in_use and lock_timeout while a charge is under way'),
    'idempotency_key_in_use',
    'lock_timeout',
  ],
  [confirmTable('402 for the card %s, and the same again for its key'), 'card_declined', 'authentication_required'],
  [refusals('can be turned off, and is then gone'), 'endpoint_removed'],
  [testsIn('e2e/test/test-clocks.test.ts')('goes forward only'), 'test_clock_cannot_go_back'],
  [
    testsIn('e2e/test/main-path.ts')('starts a subscription through a completed session, and cancels it'),
    'subscription_not_cancelable',
  ],
];

const reachedBy: Partial<Record<FailureCode, readonly TestName[]>> = Object.fromEntries(
  reaches.flatMap(([tests, ...codes]) => codes.map((code) => [code, tests])),
);
