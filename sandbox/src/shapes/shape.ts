import type {
  AccountRecord,
  BalanceTransactionRecord,
  ConfirmationTokenRecord,
  CustomerRecord,
  DisputeRecord,
  EventRecord,
  FileRecord,
  PaymentMethodRecord,
  PayoutRecord,
  RecordKind,
  RecordTypes,
  WebhookEndpointRecord,
} from '../store/record-types.ts';
import { cardShape } from './card.ts';
import { chargeShape, paymentIntentShape, refundShape, setupIntentShape } from './payment.ts';

type Shapes = { [Kind in RecordKind]: (record: RecordTypes[Kind]) => object };

/** The API version whose objects these are (that of the SDK this processor is held against). */
export const apiVersion = '2026-10-28.endive';

/** A record as Stripe would show it. The one place where public objects are made: answers and events share it. */
export function shape<Kind extends RecordKind>(kind: Kind, record: RecordTypes[Kind]): object {
  return shapes[kind](record);
}

const shapes: Shapes = {
  customer: customerShape,
  payment_method: paymentMethodShape,
  confirmation_token: confirmationTokenShape,
  payment_intent: paymentIntentShape,
  charge: chargeShape,
  refund: refundShape,
  setup_intent: setupIntentShape,
  balance_transaction: balanceTransactionShape,
  dispute: disputeShape,
  payout: payoutShape,
  file: fileShape,
  account: accountShape,
  webhook_endpoint: webhookEndpointShape,
  event: eventShape,
};

function customerShape(record: CustomerRecord): object {
  if (record.deleted) return { id: record.id, object: 'customer', deleted: true };
  return {
    id: record.id,
    object: 'customer',
    address: record.address ?? null,
    balance: 0,
    created: record.created,
    currency: null,
    default_source: null,
    delinquent: false,
    description: record.description,
    email: record.email,
    invoice_prefix: record.id.slice(-8).toUpperCase(),
    invoice_settings: { custom_fields: null, default_payment_method: null, footer: null, rendering_options: null },
    livemode: false,
    metadata: record.metadata,
    name: record.name,
    next_invoice_sequence: 1,
    phone: record.phone,
    preferred_locales: [],
    shipping: record.shipping ?? null,
    tax_exempt: 'none',
    test_clock: null,
  };
}

function paymentMethodShape(record: PaymentMethodRecord): object {
  return {
    id: record.id,
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: record.billingDetails,
    card: cardShape(record.card, record.expMonth, record.expYear),
    created: record.created,
    customer: record.customer,
    customer_account: null,
    livemode: false,
    metadata: record.metadata,
    type: 'card',
  };
}

function confirmationTokenShape(record: ConfirmationTokenRecord): object {
  const isUsed = record.paymentIntent !== null || record.setupIntent !== null;
  return {
    id: record.id,
    object: 'confirmation_token',
    created: record.created,
    expires_at: isUsed ? null : record.expiresAt,
    livemode: false,
    mandate_data: null,
    metadata: null,
    payment_intent: record.paymentIntent,
    payment_method_options: null,
    payment_method_preview: {
      allow_redisplay: 'unspecified',
      billing_details: record.billingDetails,
      card: cardShape(record.card, record.expMonth, record.expYear),
      customer: null,
      customer_account: null,
      type: 'card',
    },
    return_url: record.returnUrl,
    setup_future_usage: record.setupFutureUsage,
    setup_intent: record.setupIntent,
    shipping: null,
    use_stripe_sdk: true,
  };
}

function balanceTransactionShape(record: BalanceTransactionRecord): object {
  return {
    id: record.id,
    object: 'balance_transaction',
    amount: record.amount,
    available_on: record.availableOn,
    balance_type: 'payments',
    created: record.created,
    currency: record.currency,
    description: record.description,
    exchange_rate: null,
    fee: record.fee,
    fee_details:
      record.fee === 0
        ? []
        : [
            {
              amount: record.fee,
              application: null,
              currency: record.currency,
              description: 'Processing fees',
              type: 'stripe_fee',
            },
          ],
    net: record.amount - record.fee,
    reporting_category: record.reportingCategory,
    source: record.source,
    status: record.availableOn <= Date.now() / 1000 ? 'available' : 'pending',
    type: record.type,
  };
}

function payoutShape(record: PayoutRecord): object {
  return {
    id: record.id,
    object: 'payout',
    amount: record.amount,
    application_fee: null,
    application_fee_amount: null,
    arrival_date: record.arrivalDate,
    automatic: true,
    balance_transaction: record.balanceTransaction,
    created: record.created,
    currency: record.currency,
    description: 'STRIPE PAYOUT',
    destination: null,
    failure_balance_transaction: record.failureBalanceTransaction,
    failure_code: record.failureCode,
    failure_message: record.failureCode === null ? null : 'The bank account has been closed',
    livemode: false,
    metadata: record.metadata,
    method: 'standard',
    original_payout: null,
    payout_method: null,
    reconciliation_status: 'completed',
    reversed_by: null,
    source_type: 'card',
    statement_descriptor: null,
    status: record.status,
    trace_id: null,
    type: 'bank_account',
  };
}

function disputeShape(record: DisputeRecord): object {
  return {
    id: record.id,
    object: 'dispute',
    amount: record.amount,
    // A sandbox of an older release stored their ids.
    balance_transactions: record.balanceTransactions.map((movement) =>
      typeof movement === 'string' ? movement : shape('balance_transaction', movement),
    ),
    charge: record.charge,
    created: record.created,
    currency: record.currency,
    enhanced_eligibility_types: [],
    evidence: { ...emptyEvidence, ...record.evidence, enhanced_evidence: {} },
    evidence_details: {
      due_by: record.dueBy,
      enhanced_eligibility: {},
      has_evidence: Object.keys(record.evidence).length > 0,
      past_due: record.dueBy < Date.now() / 1000,
      submission_count: record.submissionCount,
    },
    intended_submission_method: 'manual',
    is_charge_refundable: record.status.startsWith('warning_'),
    livemode: false,
    metadata: record.metadata,
    payment_intent: record.paymentIntent,
    payment_method_details: {
      card: {
        brand: 'visa',
        case_type: record.status.startsWith('warning_') ? 'inquiry' : 'chargeback',
        network_reason_code: '83',
      },
      type: 'card',
    },
    reason: record.reason,
    status: record.status,
  };
}

function fileShape(record: FileRecord): object {
  return {
    id: record.id,
    object: 'file',
    created: record.created,
    expires_at: null,
    filename: record.filename,
    links: { object: 'list', data: [], has_more: false, url: `/v1/file_links?file=${record.id}` },
    purpose: record.purpose,
    size: record.size,
    title: null,
    type: record.type,
    url: `https://files.stripe.com/v1/files/${record.id}/contents`,
  };
}

/** Every field of evidence that may be given; also what `POST /v1/disputes/{id}` accepts. */
export const evidenceFields = [
  'access_activity_log',
  'billing_address',
  'cancellation_policy',
  'cancellation_policy_disclosure',
  'cancellation_rebuttal',
  'customer_communication',
  'customer_email_address',
  'customer_name',
  'customer_purchase_ip',
  'customer_signature',
  'duplicate_charge_documentation',
  'duplicate_charge_explanation',
  'duplicate_charge_id',
  'product_description',
  'receipt',
  'refund_policy',
  'refund_policy_disclosure',
  'refund_refusal_explanation',
  'service_date',
  'service_documentation',
  'shipping_address',
  'shipping_carrier',
  'shipping_date',
  'shipping_documentation',
  'shipping_tracking_number',
  'uncategorized_file',
  'uncategorized_text',
] as const;

const emptyEvidence = Object.fromEntries(evidenceFields.map((field) => [field, null]));

function accountShape(record: AccountRecord): object {
  return {
    id: record.id,
    object: 'account',
    business_profile: record.businessProfile ?? null,
    business_type: null,
    capabilities: { card_payments: 'active', transfers: 'active' },
    charges_enabled: true,
    country: record.country,
    created: record.created,
    default_currency: 'usd',
    details_submitted: true,
    email: record.email,
    external_accounts: {
      object: 'list',
      data: [],
      has_more: false,
      url: `/v1/accounts/${record.id}/external_accounts`,
    },
    metadata: record.metadata,
    payouts_enabled: true,
    requirements: {
      currently_due: [],
      disabled_reason: null,
      errors: [],
      eventually_due: [],
      past_due: [],
      pending_verification: [],
    },
    settings: {},
    type: record.type,
  };
}

function webhookEndpointShape(record: WebhookEndpointRecord): object {
  return {
    id: record.id,
    object: 'webhook_endpoint',
    api_version: record.apiVersion,
    application: null,
    created: record.created,
    description: record.description,
    enabled_events: record.enabledEvents,
    livemode: false,
    metadata: record.metadata,
    status: record.status,
    url: record.url,
  };
}

function eventShape(record: EventRecord): object {
  return {
    id: record.id,
    object: 'event',
    ...(record.connected && { account: record.account }),
    api_version: apiVersion,
    created: record.created,
    data: { object: snapshotShape(record.kind, record.snapshot) },
    livemode: false,
    pending_webhooks: 0,
    request: { id: record.requestId, idempotency_key: record.idempotencyKey },
    type: record.type,
  };
}

/** An event's snapshot was a record of its kind when it was written, and is read back as one. */
function snapshotShape(kind: RecordKind, snapshot: unknown): object {
  const render = shapes[kind] as (record: unknown) => object;
  return render(snapshot);
}
