import { row } from './row.ts';

/** What checkout refuses: sessions, their payments and their promo codes. */
export function checkoutRows() {
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
    declined_cards_exceeded: row(
      429,
      'Too many cards from this network were declined.',
      'Wait for the time in Retry-After and pay again, or use another network.',
      'same_request',
    ),
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
      'This payment method is, or may be, an HSA or FSA card, and another such card pays its part of this session.',
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
      'Have the customer authenticate the payment, or use another card.',
      'never',
    ),
  };
}
