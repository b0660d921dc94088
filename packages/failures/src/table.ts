import { checkoutRows } from './checkout-rows.ts';
import { recordNames } from './records.ts';
import { type FailureRow, row } from './row.ts';

/** Every coded refusal of the interface ("Errors") and of the decisions (1.9, 5, 10, 13). A refusal that is not here does not exist. */
export const failureTable = {
  ...requestRows(),
  ...notFoundRows(),
  ...catalogRows(),
  ...checkoutRows(),
  ...refundRows(),
  ...billingRows(),
  ...webhookRows(),
  ...fileRows(),
} as const satisfies Record<string, FailureRow>;

/** A code of the failure table. */
export type FailureCode = keyof typeof failureTable;

/** Whether `code` is a row of the table. */
export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(failureTable, code);
}

// What any request can be refused with.
function requestRows() {
  return {
    bad_request: row(
      400,
      'The request is not valid HTTP.',
      'Send a valid HTTP/1.1 request with headers of at most 16 KiB, without long pauses.',
    ),
    invalid_json: row(400, 'The body is not valid JSON.', 'Send one JSON object, encoded as UTF-8.'),
    invalid_multipart: row(
      400,
      'The body is not valid multipart/form-data.',
      'Send all parts of the form, each at most 4 KiB of headers, and end it with its boundary.',
    ),
    idempotency_key_required: row(
      400,
      'The Idempotency-Key header is required.',
      'Send an Idempotency-Key that is unique for this attempt, and the same one on each retry of it.',
    ),
    unauthorized: row(
      401,
      'The API key is missing or not valid.',
      'Send an API key that is neither revoked nor expired as a bearer token.',
    ),
    event_signature_invalid: row(
      401,
      'The signature of the event is missing or not valid.',
      'Sign the raw body with a secret of this endpoint, at most five minutes ago.',
    ),
    insufficient_scope: row(
      403,
      'The API key does not have the scope that this endpoint needs.',
      'Use a key that has the scope, or a key without a list of scopes.',
    ),
    test_mode_required: row(403, 'This endpoint works with test keys only.', 'Use a test key.'),
    not_found: row(404, 'No endpoint exists at this path.', 'Check the method and the path against the documentation.'),
    method_not_allowed: row(
      405,
      'This endpoint does not support this method.',
      'Use one of the methods in the Allow header.',
    ),
    endpoint_removed: row(410, 'This endpoint has been removed.', 'Use the endpoint that replaces it.', 'never'),
    payload_too_large: row(413, 'The body is too large.', 'Keep the body within 1 MiB (1048576 bytes).'),
    unsupported_media_type: row(
      415,
      'The Content-Type of the body is not supported.',
      'Send application/json, or multipart/form-data to upload a file.',
    ),
    validation_error: row(422, 'The request is not valid.', 'Correct the fields listed in the response.'),
    card_number_not_allowed: row(
      422,
      'Card numbers are not accepted in any field.',
      'Send the identifier of a payment method instead of a card number.',
    ),
    idempotency_key_reused: row(
      409,
      'This Idempotency-Key was used with a different request.',
      'Use a new key for a new request; retry a request with the same key and the same body.',
      'never',
    ),
    idempotency_key_in_use: row(
      503,
      'A request with this Idempotency-Key is in flight.',
      'Send the same request again with the same key after the time in Retry-After.',
      'same_request',
    ),
    lock_timeout: row(
      503,
      'Another request is working on the same record, or the processor cannot be reached.',
      'Send the same request again with the same key after the time in Retry-After.',
      'same_request',
    ),
    conflict: row(
      409,
      'The current state of the record does not allow this request.',
      'Read the record again and check its current state.',
    ),
    rate_limited: row(429, 'Too many requests.', 'Wait for the time in Retry-After.', 'same_request'),
    internal: row(
      500,
      'Something went wrong on our side.',
      'Send the same request again. If the error persists, report the Request-Id.',
      'same_request',
    ),
    service_unavailable: row(
      503,
      'The service is busy or restarting.',
      'Send the same request again after the time in Retry-After.',
      'same_request',
    ),
    deadline_exceeded: row(
      503,
      'The request did not finish in time.',
      'Send the same request again with the same key; the operation is carried out only once.',
      'same_request',
    ),
    processor_not_configured: row(
      503,
      'No processor is configured for live charges.',
      'Configure a processor for live mode, or use a test key.',
    ),
  };
}

// One row for each record that a path or a body can name.
function notFoundRows() {
  return Object.fromEntries(
    recordNames.map((name) => [
      `${name}_not_found`,
      row(
        404,
        `No such ${name.replaceAll('_', ' ')}.`,
        'Check the identifier, and the account and mode of the API key.',
      ),
    ]),
  ) as Record<`${(typeof recordNames)[number]}_not_found`, FailureRow>;
}

function fileRows() {
  return {
    file_too_large: row(413, 'The file is too large.', 'Keep the file within 10 MB (10000000 bytes).'),
    file_type_not_supported: row(422, 'The file is not a PDF, PNG or JPEG.', 'Send a file of one of these types.'),
    file_type_mismatch: row(
      422,
      'The content of the file is not of the type that its part declares.',
      'Correct the Content-Type of the part, or leave it out.',
    ),
    file_infected: row(422, 'The virus scanner refused the file.', 'Send a clean file.', 'never'),
    file_storage_full: row(
      409,
      'The account has reached its limit of stored files.',
      'Wait until files expire, or send files with an earlier expires_at.',
    ),
    too_many_file_transfers: row(
      429,
      'Too many files are being uploaded or downloaded.',
      'Send the same request again after the time in Retry-After.',
      'same_request',
    ),
  };
}

function catalogRows() {
  return {
    component_already_registered: row(
      409,
      'This component is already registered.',
      'Update the registered component with PATCH instead.',
      'never',
    ),
    client_reference_id_in_use: row(
      409,
      'This client_reference_id belongs to another record.',
      'Use another client_reference_id, or update the record that has it.',
    ),
    lookup_key_in_use: row(
      409,
      'This lookup_key belongs to another price.',
      'Use another lookup_key, or send transfer_lookup_key to move it.',
    ),
    promo_code_in_use: row(
      409,
      'Another active promo code has this code.',
      'Use another code, or deactivate the other one.',
    ),
    price_required: row(422, 'The product does not have exactly one active price.', 'Send the price explicitly.'),
    promo_code_invalid: row(
      422,
      'This promo code cannot be used.',
      'Use a code that is active, not expired, within its limits and meant for this customer.',
    ),
    coupon_not_applicable: row(
      422,
      'This coupon does not apply.',
      'Use a coupon that is valid and applies to at least one line.',
    ),
    food_eligibility_not_enabled: row(
      404,
      'Food eligibility is not enabled for this account.',
      'Ask the operator to enable the food_eligibility feature.',
    ),
  };
}

function refundRows() {
  return {
    refund_amount_exceeds_remaining: row(
      422,
      'The refund amount exceeds the remaining balance.',
      'Refund at most the captured amount that is not yet refunded.',
    ),
    refund_amount_invalid: row(422, 'The refund amount is not valid.', 'Refund a positive number of cents.'),
    refund_limit_reached: row(
      422,
      'This session has too many refunds.',
      'Refund the whole remaining balance in one refund, without amount or line_items. If that is also refused, return the money outside Eligo.',
    ),
    payment_intent_not_succeeded: row(
      422,
      'The payment intent has not succeeded.',
      'Refund a payment intent whose status is succeeded.',
    ),
    payment_method_allocation_not_enabled: row(
      403,
      'Allocating a refund to payment methods is not enabled for this account.',
      'Leave payment_methods out, or ask the operator to enable the refund_payment_methods feature.',
    ),
    letter_not_in_review: row(409, 'The letter is no longer in review.', 'Read the letter.', 'never'),
    refund_not_pending: row(409, 'The refund is no longer pending.', 'Read the refund.', 'never'),
    dispute_not_open: row(409, 'The dispute no longer accepts evidence.', 'Read the dispute.', 'never'),
  };
}

function billingRows() {
  return {
    subscription_not_cancelable: row(
      409,
      'This subscription can no longer be canceled.',
      'Read the subscription.',
      'never',
    ),
    subscription_not_pausable: row(409, 'This subscription cannot be paused.', 'Pause an active subscription.'),
    subscription_not_resumable: row(
      409,
      'This subscription is not paused.',
      'Resume a paused subscription whose customer is not deleted.',
    ),
    subscription_not_updatable: row(
      409,
      'The status of this subscription does not allow this change.',
      'Read its status: pay an open invoice first, change a trial before it ends, and create a new subscription if it has ended.',
    ),
    invoice_already_paid: row(409, 'This invoice is paid.', 'Read the invoice; do not pay it again.', 'never'),
    invoice_not_payable: row(
      409,
      'This invoice cannot be paid.',
      'Pay an invoice that is open, or one that is uncollectible, comes to at least 50 cents, and was not paid in part.',
      'never',
    ),
    invoice_payment_tries_exceeded: row(
      409,
      'Too many tries of this invoice.',
      'Let the customer pay on its page, or void it.',
      'never',
    ),
    invoice_not_voidable: row(
      409,
      'This invoice cannot be voided.',
      'Void an invoice that is open or uncollectible.',
      'never',
    ),
    test_clock_cannot_go_back: row(422, 'A test clock can only move forward.', 'Advance it to a later time.'),
  };
}

function webhookRows() {
  return {
    webhook_url_not_allowed: row(422, 'This URL cannot receive webhooks.', 'Use an https URL with a public host.'),
  };
}
