import type { Code } from '@connectrpc/connect';
import { recordNames } from './records.ts';
import { rpcCodeOf } from './rpc-code.ts';

/** What a client gains by asking again: nothing, something once the request or the record has changed, or the same answer later. */
export type RetryAdvice = 'never' | 'after_change' | 'same_request';

/** A row of the failure table. */
export interface FailureRow {
  /** HTTP status of the public answer. */
  readonly status: number;
  readonly rpc: Code;
  readonly retry: RetryAdvice;
  /** The public text; never internal. */
  readonly detail: string;
  /** What the client can do about the error, in plain words. */
  readonly remedy: string;
}

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

function row(status: number, detail: string, remedy: string, retry: RetryAdvice = 'after_change'): FailureRow {
  return { status, rpc: rpcCodeOf(status), retry, detail, remedy };
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

function checkoutRows() {
  return {
    checkout_session_already_processed: row(
      400,
      'This checkout session has already been processed.',
      'Read the session; do not charge it again.',
      'never',
    ),
    checkout_session_expired: row(400, 'This checkout session has expired.', 'Create a new session.', 'never'),
    checkout_session_canceled: row(400, 'This checkout session was canceled.', 'Create a new session.', 'never'),
    checkout_session_not_open: row(400, 'This checkout session is no longer open.', 'Create a new session.', 'never'),
    checkout_session_amount_changed: row(
      409,
      'The amount of this checkout session has changed.',
      'Reload the page, show the new amount, and pay again.',
    ),
    checkout_session_payment_tries_exceeded: row(409, 'Too many declined cards.', 'Create a new session.', 'never'),
    promo_codes_not_allowed: row(
      409,
      'This checkout session does not accept promo codes.',
      'Create the session with allow_promotion_codes.',
      'never',
    ),
    promo_code_already_entered: row(409, 'This checkout session already has a promo code.', 'Remove that code first.'),
    promo_code_final: row(
      409,
      'The promo code of this checkout session cannot be changed after a card is entered.',
      'Pay the total that the session shows, or create a new session.',
      'never',
    ),
    promo_code_tries_exceeded: row(
      409,
      'Too many promo code attempts for this checkout session.',
      'Pay without another code, or create a new session.',
      'never',
    ),
    payment_link_inactive: row(410, 'This payment link is not active.', 'Ask the shop for a new link.', 'never'),
    checkout_amount_too_low: row(
      400,
      'The amount is below the minimum charge.',
      'Charge at least 50 cents, or nothing.',
    ),
    checkout_session_not_captured: row(
      422,
      'This checkout session has not been captured.',
      'Capture the session first.',
    ),
    checkout_session_not_capturable: row(
      409,
      'This checkout session has nothing to capture.',
      'Capture a session that is paid and whose hold has not expired.',
    ),
    eligibility_record_already_charged: row(
      409,
      'The eligible part of this session has already been charged.',
      'Read the session; do not charge it again.',
      'never',
    ),
    manual_capture_not_supported: row(422, 'capture_method must be automatic.', 'Send automatic, or leave it out.'),
    payment_method_not_off_session: row(
      422,
      'This payment method cannot be charged off-session.',
      'Use a payment method that was set up for off-session use.',
    ),
    payment_method_from_another_processor: row(
      422,
      'This payment method was saved at a processor account that this account no longer charges.',
      'Ask the customer to enter the card again. Earlier payments with it can still be captured and refunded.',
    ),
    health_cards_not_enabled: row(
      422,
      'This account is not enabled for HSA and FSA cards in live mode.',
      'Ask the operator to enable them. Until then, charge another card outside Eligo.',
    ),
    other_payment_method_required: row(
      422,
      'This payment method is, or may be, an HSA or FSA card, and such a card has already paid its part of this session.',
      'Confirm with a card that is known to be no HSA or FSA card, or say with PATCH /v1/payment_methods/{id} that this one is none.',
    ),
    customer_required: row(422, 'A customer is required.', 'Send a customer.'),
    payment_method_in_use: row(
      409,
      'This payment method belongs to another customer.',
      'Detach it from that customer first.',
    ),
    capture_amount_exceeds_authorized: row(
      422,
      'The capture amount exceeds the authorized amount.',
      'Capture at most the authorized amount that is not yet captured.',
    ),
    capture_amount_invalid: row(422, 'The capture amount is not valid.', 'Capture a positive number of cents.'),
    multiple_captures_not_supported: row(
      422,
      'This payment can be captured only once.',
      'Send final_capture: true, or capture all that remains.',
    ),
    card_declined: row(402, 'The card was declined.', 'Use another card.', 'never'),
    authentication_required: row(
      402,
      'The card needs authentication and cannot be charged off-session.',
      'Use another card.',
      'never',
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
    subscription_not_resumable: row(409, 'This subscription is not paused.', 'Resume a paused subscription.'),
    subscription_not_updatable: row(
      409,
      'The status of this subscription does not allow this change.',
      'Pay its open invoice first; create a new subscription if it has ended.',
    ),
    invoice_already_paid: row(409, 'This invoice is paid.', 'Read the invoice; do not pay it again.', 'never'),
    invoice_not_payable: row(
      409,
      'This invoice cannot be paid.',
      'Pay an invoice that is open or uncollectible.',
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
