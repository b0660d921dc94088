/** What each record remembers: only what cannot be computed. `shapes/` makes Stripe's objects of them. */
interface Base {
  id: string;
  /** The connected account that the record belongs to, or the platform's own. */
  account: string;
  /** Unix seconds. */
  created: number;
}

export interface CustomerRecord extends Base {
  name: string | null;
  email: string | null;
  phone: string | null;
  description: string | null;
  address: unknown;
  shipping: unknown;
  metadata: Record<string, string>;
  deleted: boolean;
}

export interface PaymentMethodRecord extends Base {
  /** Name of the test card (`cards.ts`). */
  card: string;
  expMonth: number;
  expYear: number;
  customer: string | null;
  /** Once detached, a payment method cannot be used or attached again. */
  detached: boolean;
  billingDetails: unknown;
  metadata: Record<string, string>;
}

/** What a browser made of a card for one confirmation, before there is a payment method. */
export interface ConfirmationTokenRecord extends Base {
  /** Name of the test card. */
  card: string;
  expMonth: number;
  expYear: number;
  billingDetails: unknown;
  expiresAt: number;
  returnUrl: string | null;
  setupFutureUsage: string | null;
  /** What the Elements that made it were told. */
  captureMethod?: string;
  /** What it was used for, once. */
  paymentIntent: string | null;
  setupIntent: string | null;
}

export type IntentStatus =
  | 'requires_payment_method'
  | 'requires_confirmation'
  | 'requires_action'
  | 'requires_capture'
  | 'canceled'
  | 'succeeded';

export type ThreeDSecure = 'automatic' | 'any' | 'challenge';

export interface LastError {
  type: 'card_error' | 'invalid_request_error';
  code: string;
  decline_code?: string;
  message: string;
  charge?: string;
  payment_method: object;
}

export interface PaymentIntentRecord extends Base {
  amount: number;
  amountCapturable: number;
  amountReceived: number;
  currency: string;
  status: IntentStatus;
  captureMethod: 'automatic' | 'automatic_async' | 'manual';
  multicapture: boolean;
  threeDSecure: ThreeDSecure;
  customer: string | null;
  paymentMethod: string | null;
  latestCharge: string | null;
  lastError: LastError | null;
  setupFutureUsage: string | null;
  description: string | null;
  statementDescriptor: string | null;
  statementDescriptorSuffix: string | null;
  receiptEmail: string | null;
  returnUrl: string | null;
  shipping: unknown;
  transferGroup: string | null;
  secret: string;
  canceledAt: number | null;
  cancellationReason: string | null;
  metadata: Record<string, string>;
}

/** What one capture took of a hold, and what has been refunded of it. */
export interface ChargeCapture {
  readonly reference: string;
  readonly amount: number;
  readonly refunded: number;
}

export interface ChargeRecord extends Base {
  amount: number;
  amountCaptured: number;
  amountRefunded: number;
  currency: string;
  status: 'succeeded' | 'failed';
  captured: boolean;
  /** True once what was held and not captured has been given back. */
  released: boolean;
  /** Unix seconds at which the hold lapses; null for a charge that was captured at once or failed. */
  captureBefore: number | null;
  multicapture: boolean;
  paymentIntent: string;
  paymentMethod: string;
  card: string;
  expMonth: number;
  expYear: number;
  customer: string | null;
  billingDetails: unknown;
  balanceTransaction: string | null;
  disputed: boolean;
  failureCode: string | null;
  declineCode: string | null;
  failureMessage: string | null;
  description: string | null;
  /** The key of the request that made the charge. */
  idempotencyKey: string | null;
  metadata: Record<string, string>;
  /** Under which it was made, or which it made. */
  mandate?: string | null;
  /** The captures that came with a reference. */
  captures?: readonly ChargeCapture[];
}

export interface RefundRecord extends Base {
  amount: number;
  currency: string;
  charge: string;
  paymentIntent: string;
  paymentMethod: string;
  customer: string | null;
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  reason: string | null;
  failureReason: string | null;
  balanceTransaction: string | null;
  failureBalanceTransaction: string | null;
  idempotencyKey: string | null;
  metadata: Record<string, string>;
}

export interface SetupIntentRecord extends Base {
  status: 'requires_payment_method' | 'requires_confirmation' | 'requires_action' | 'canceled' | 'succeeded';
  customer: string | null;
  paymentMethod: string | null;
  usage: string;
  threeDSecure: ThreeDSecure;
  description: string | null;
  returnUrl: string | null;
  lastError: LastError | null;
  cancellationReason: string | null;
  secret: string;
  metadata: Record<string, string>;
}

export interface BalanceTransactionRecord extends Base {
  amount: number;
  fee: number;
  currency: string;
  type: 'charge' | 'refund' | 'refund_failure' | 'adjustment' | 'payout' | 'payout_failure';
  source: string;
  availableOn: number;
  description: string | null;
  reportingCategory: string;
}

export interface PayoutRecord extends Base {
  amount: number;
  currency: string;
  status: 'in_transit' | 'paid' | 'failed';
  /** Unix seconds. */
  arrivalDate: number;
  balanceTransaction: string;
  failureBalanceTransaction: string | null;
  failureCode: string | null;
  metadata: Record<string, string>;
}

export interface DisputeRecord extends Base {
  amount: number;
  currency: string;
  charge: string;
  paymentIntent: string;
  /** One of Stripe's, or one that Stripe may add. */
  status: string;
  reason: string;
  evidence: Record<string, string>;
  dueBy: number;
  submissionCount: number;
  balanceTransactions: BalanceTransactionRecord[];
  metadata: Record<string, string>;
}

/** A file of evidence: all but its content. */
export interface FileRecord extends Base {
  purpose: string;
  filename: string;
  size: number;
  type: string;
  sha256: string;
}

export interface AccountRecord extends Base {
  type: string;
  country: string;
  email: string | null;
  businessProfile: unknown;
  metadata: Record<string, string>;
}

export interface WebhookEndpointRecord extends Base {
  url: string;
  secret: string;
  enabledEvents: string[];
  status: 'enabled' | 'disabled';
  /** True: receives what happens on connected accounts, not on its own. */
  connect: boolean;
  apiVersion: string | null;
  description: string | null;
  metadata: Record<string, string>;
}

export interface EventRecord extends Base {
  type: string;
  /** True when it happened on a connected account, not on the platform's own. */
  connected: boolean;
  /** The record as it was when the event happened. */
  kind: RecordKind;
  snapshot: unknown;
  requestId: string | null;
  idempotencyKey: string | null;
}

export interface RecordTypes {
  customer: CustomerRecord;
  payment_method: PaymentMethodRecord;
  confirmation_token: ConfirmationTokenRecord;
  payment_intent: PaymentIntentRecord;
  charge: ChargeRecord;
  refund: RefundRecord;
  setup_intent: SetupIntentRecord;
  balance_transaction: BalanceTransactionRecord;
  dispute: DisputeRecord;
  payout: PayoutRecord;
  file: FileRecord;
  account: AccountRecord;
  webhook_endpoint: WebhookEndpointRecord;
  event: EventRecord;
}

export type RecordKind = keyof RecordTypes;
export type RecordOf<Kind extends RecordKind> = RecordTypes[Kind];
