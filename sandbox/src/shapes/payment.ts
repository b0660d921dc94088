import { createHash } from 'node:crypto';
import type { ChargeRecord, PaymentIntentRecord, RefundRecord, SetupIntentRecord } from '../store/record-types.ts';
import { needCard } from './card.ts';
import { mandateOf, networkTransactionOf } from './mandate.ts';

export function paymentIntentShape(record: PaymentIntentRecord): object {
  return {
    id: record.id,
    object: 'payment_intent',
    allowed_payment_method_types: ['card'],
    amount: record.amount,
    amount_capturable: record.amountCapturable,
    amount_details: { tip: {} },
    amount_received: record.amountReceived,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: record.canceledAt,
    cancellation_reason: record.cancellationReason,
    capture_method: record.captureMethod,
    client_secret: `${record.id}_secret_${record.secret}`,
    confirmation_method: 'automatic',
    created: record.created,
    currency: record.currency,
    customer: record.customer,
    customer_account: null,
    description: record.description,
    excluded_payment_method_types: null,
    last_payment_error: record.lastError,
    latest_charge: record.latestCharge,
    livemode: false,
    managed_payments: null,
    metadata: record.metadata,
    next_action: record.status === 'requires_action' ? nextAction(record.id, record.returnUrl) : null,
    on_behalf_of: null,
    payment_method: record.paymentMethod,
    payment_method_configuration_details: null,
    payment_method_options: {
      card: {
        installments: null,
        mandate_options: null,
        network: null,
        request_three_d_secure: record.threeDSecure ?? 'automatic',
        ...(record.multicapture && { request_multicapture: 'if_available' }),
      },
    },
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: record.receiptEmail,
    review: null,
    setup_future_usage: record.setupFutureUsage,
    shipping: record.shipping ?? null,
    source: null,
    statement_descriptor: record.statementDescriptor,
    statement_descriptor_suffix: record.statementDescriptorSuffix,
    status: record.status,
    transfer_data: null,
    transfer_group: record.transferGroup,
  };
}

export function setupIntentShape(record: SetupIntentRecord): object {
  return {
    id: record.id,
    object: 'setup_intent',
    allowed_payment_method_types: ['card'],
    application: null,
    automatic_payment_methods: null,
    cancellation_reason: record.cancellationReason,
    client_secret: `${record.id}_secret_${record.secret}`,
    created: record.created,
    customer: record.customer,
    description: record.description,
    excluded_payment_method_types: null,
    flow_directions: null,
    last_setup_error: record.lastError,
    latest_attempt: null,
    livemode: false,
    mandate: record.status === 'succeeded' && record.paymentMethod !== null ? mandateOf(record.paymentMethod) : null,
    metadata: record.metadata,
    next_action: record.status === 'requires_action' ? nextAction(record.id, record.returnUrl) : null,
    on_behalf_of: null,
    payment_method: record.paymentMethod,
    payment_method_configuration_details: null,
    payment_method_options: {
      card: { mandate_options: null, network: null, request_three_d_secure: record.threeDSecure ?? 'automatic' },
    },
    payment_method_types: ['card'],
    single_use_mandate: null,
    status: record.status,
    usage: record.usage,
  };
}

export function chargeShape(record: ChargeRecord): object {
  const card = needCard(record.card);
  return {
    id: record.id,
    object: 'charge',
    amount: record.amount,
    amount_captured: record.amountCaptured,
    amount_refunded: record.amountRefunded,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: record.balanceTransaction,
    billing_details: record.billingDetails,
    calculated_statement_descriptor: 'SANDBOX',
    captured: record.captured,
    created: record.created,
    currency: record.currency,
    customer: record.customer,
    description: record.description,
    disputed: record.disputed,
    failure_balance_transaction: null,
    failure_code: record.failureCode,
    failure_message: record.failureMessage,
    fraud_details: {},
    livemode: false,
    metadata: record.metadata,
    on_behalf_of: null,
    outcome: outcomeShape(record),
    paid: record.status === 'succeeded',
    payment_intent: record.paymentIntent,
    payment_method: record.paymentMethod,
    payment_method_details: {
      card: {
        amount_authorized: record.status === 'succeeded' ? record.amount : null,
        authorization_code: record.status === 'succeeded' ? record.id.slice(-6).toUpperCase() : null,
        brand: card.brand,
        ...(record.captureBefore !== null && !record.released && { capture_before: record.captureBefore }),
        checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: null },
        country: card.country,
        description: card.description,
        exp_month: record.expMonth,
        exp_year: record.expYear,
        funding: card.funding,
        iin: card.iin,
        issuer: card.issuer,
        last4: card.last4,
        mandate: record.mandate ?? null,
        multicapture: { status: record.multicapture ? 'available' : 'unavailable' },
        network: card.brand,
        network_transaction_id: record.status === 'succeeded' ? networkTransactionOf(record.id) : null,
        three_d_secure: null,
        wallet: null,
      },
      type: 'card',
    },
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: record.amountCaptured > 0 && record.amountRefunded === record.amountCaptured,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: record.status,
    transfer_data: null,
    transfer_group: null,
  };
}

export function refundShape(record: RefundRecord): object {
  return {
    id: record.id,
    object: 'refund',
    amount: record.amount,
    balance_transaction: record.balanceTransaction,
    charge: record.charge,
    created: record.created,
    currency: record.currency,
    customer: record.customer,
    customer_account: null,
    destination_details: {
      card: {
        ...(record.status === 'succeeded' && { reference: acquirerReference(record.id) }),
        reference_status: record.status === 'succeeded' ? 'available' : 'pending',
        reference_type: 'acquirer_reference_number',
        type: 'refund',
      },
      type: 'card',
    },
    ...(record.failureBalanceTransaction !== null && { failure_balance_transaction: record.failureBalanceTransaction }),
    ...(record.failureReason !== null && { failure_reason: record.failureReason }),
    metadata: record.metadata,
    payment_intent: record.paymentIntent,
    payment_method: record.paymentMethod,
    reason: record.reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: record.status,
    transfer_reversal: null,
  };
}

// 23 digits, as acquirers number refunds; the same for the same refund.
function acquirerReference(id: string): string {
  const digest = createHash('sha256').update(id).digest('hex');
  return (BigInt(`0x${digest}`) % 10n ** 22n).toString().padStart(23, '7');
}

function outcomeShape(record: ChargeRecord): object {
  const approved = record.status === 'succeeded';
  return {
    advice_code: null,
    network_advice_code: null,
    network_decline_code: approved ? null : '05',
    network_status: approved ? 'approved_by_network' : 'declined_by_network',
    reason: approved ? null : (record.declineCode ?? record.failureCode),
    risk_level: 'normal',
    risk_score: 1,
    seller_message: approved ? 'Payment complete.' : 'The bank did not approve this payment.',
    type: approved ? 'authorized' : 'issuer_declined',
  };
}

function nextAction(id: string, returnUrl: string | null): object {
  if (returnUrl === null) return { type: 'use_stripe_sdk', use_stripe_sdk: { type: 'three_d_secure_redirect' } };
  return { type: 'redirect_to_url', redirect_to_url: { return_url: returnUrl, url: `/sandbox/authentications/${id}` } };
}
