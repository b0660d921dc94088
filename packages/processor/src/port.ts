import type {
  BalanceTransactionOutcome,
  BillingDetails,
  ChargeOutcome,
  CreationOutcome,
  CustomerOutcome,
  DisputeOutcome,
  IntentOutcome,
  PaymentMethodOutcome,
  RefundOutcome,
  Search,
  SetupOutcome,
} from './outcomes.ts';

/** How one call is made. */
export interface CallOptions {
  /** For everything that writes. The same key and parameters give the same answer; other parameters are `rejected`. */
  readonly idempotencyKey?: string | undefined;
  /** Total time for connecting, sending and the whole answer; the port's default (6 s) if absent. 0 or less is not sent. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait, not what the processor does: the outcome is then unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** A call that writes; without a key it could be done twice. */
export interface WriteOptions extends CallOptions {
  readonly idempotencyKey: string;
}

/** What of a tender is for health care, in cents: all of it, and of that the disjoint buckets of decisions 4. Each adapter composes its own amounts. */
export interface HealthcareAmounts {
  /** The buckets, and items that need a letter: those are medical, and in no bucket. */
  readonly medicalCents: number;
  readonly iiasCents: number;
  readonly prescriptionCents: number;
  readonly visionCents: number;
  readonly serviceCents: number;
}

export interface IntentInput {
  /** Goes into the metadata as `attempt`, so that the intent can be found again. */
  readonly attemptId: string;
  readonly amountCents: number;
  readonly capture: 'automatic' | 'manual';
  readonly paymentMethod?: string | undefined;
  readonly customer?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Only with what is, or may be, a health card. Never more than `amountCents` is sent. */
  readonly healthcare?: HealthcareAmounts | undefined;
}

export interface ConfirmInput {
  readonly paymentMethod?: string | undefined;
  /** True when no shopper is there to authenticate: what would need it is then declined. */
  readonly offSession: boolean;
  readonly returnUrl?: string | undefined;
}

export interface CaptureInput {
  /** All that is left, if absent. */
  readonly amountCents?: number | undefined;
  /** True releases what is not captured; false keeps it for further captures. */
  readonly finalCapture: boolean;
}

export interface RefundInput {
  /** Goes into the metadata as `refund`, so that it can be found again. */
  readonly refundId: string;
  readonly intentId: string;
  readonly amountCents: number;
  readonly reason?: 'duplicate' | 'fraudulent' | 'requested_by_customer' | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export interface CustomerInput {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly phone?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export interface PaymentMethodInput {
  /** A processor's token of a card (`tok_…`). A card number never passes here. */
  readonly token: string;
  readonly billing?: Partial<BillingDetails> | undefined;
}

export interface SetupInput {
  readonly customer?: string | undefined;
  readonly paymentMethod?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Evidence by the processor's own field names. */
export interface DisputeEvidence {
  readonly evidence?: Readonly<Record<string, string>> | undefined;
  readonly submit: boolean;
}

/**
 * The processor, as one account in one mode sees it. No method throws for what the processor or the network does: the outcome
 * says it. Each throws when it is called inside a database transaction.
 */
export interface ProcessorPort {
  readonly name: 'sandbox' | 'stripe';
  /** The processor's account that the calls act on (`Stripe-Account`); undefined for the key's own. */
  readonly processorAccount: string | undefined;
  /** Known to be down: answer 503 before writing anything. It is found out again in the background. */
  isDown(): boolean;

  createCustomer(input: CustomerInput, call: WriteOptions): Promise<CustomerOutcome>;

  createPaymentMethod(input: PaymentMethodInput, call: WriteOptions): Promise<PaymentMethodOutcome>;
  retrievePaymentMethod(id: string, call?: CallOptions): Promise<PaymentMethodOutcome>;
  attachPaymentMethod(id: string, customer: string, call: WriteOptions): Promise<PaymentMethodOutcome>;
  detachPaymentMethod(id: string, call: WriteOptions): Promise<PaymentMethodOutcome>;

  /**
   * Unconfirmed: no money moves. An unknown creation is simply repeated under a new key. Throws a RangeError, before anything is sent, for
   * more than 99,999,999 cents: the caller has refused that long before.
   */
  createIntent(input: IntentInput, call: WriteOptions): Promise<CreationOutcome>;
  /** The call that moves money. After `unknown`: retrieve; if still `confirmable`, confirm the same intent under the next key. */
  confirmIntent(id: string, input: ConfirmInput, call: WriteOptions): Promise<IntentOutcome>;
  retrieveIntent(id: string, call?: CallOptions): Promise<IntentOutcome>;
  /** `requires_capture` when more may be captured, `succeeded` when the capture was final. */
  captureIntent(id: string, input: CaptureInput, call: WriteOptions): Promise<IntentOutcome>;
  /** `canceled`; or what the intent stands at, if it could not be canceled any more. */
  cancelIntent(id: string, call: WriteOptions): Promise<IntentOutcome>;
  /** By one metadata pair, newest first. Stripe's search lags by up to a minute. */
  findIntentByMetadata(key: string, value: string, call?: CallOptions): Promise<Search<IntentOutcome>>;

  createRefund(input: RefundInput, call: WriteOptions): Promise<RefundOutcome>;
  retrieveRefund(id: string, call?: CallOptions): Promise<RefundOutcome>;
  /** The refund of an intent that carries this refund id of ours, if it can be read already. */
  findRefund(intentId: string, refundId: string, call?: CallOptions): Promise<Search<RefundOutcome>>;

  createSetupIntent(input: SetupInput, call: WriteOptions): Promise<SetupOutcome>;
  confirmSetupIntent(id: string, input: { paymentMethod?: string }, call: WriteOptions): Promise<SetupOutcome>;
  retrieveSetupIntent(id: string, call?: CallOptions): Promise<SetupOutcome>;

  retrieveCharge(id: string, call?: CallOptions): Promise<ChargeOutcome>;
  retrieveDispute(id: string, call?: CallOptions): Promise<DisputeOutcome>;
  updateDispute(id: string, input: DisputeEvidence, call: WriteOptions): Promise<DisputeOutcome>;
  closeDispute(id: string, call: WriteOptions): Promise<DisputeOutcome>;
  retrieveBalanceTransaction(id: string, call?: CallOptions): Promise<BalanceTransactionOutcome>;

  /** What only the sandbox can do, or undefined when this is a real processor. */
  readonly testBank: TestBank | undefined;
}

/** The names of decisions 12, of the processor's own cards, and nothing else. */
export type TestCardName =
  | 'hsa'
  | 'fsa'
  | 'credit'
  | 'debit'
  | 'undescribed'
  | 'mastercard'
  | 'declined'
  | 'hsa_declined'
  | 'hsa_insufficient_funds'
  | 'insufficient_funds'
  | 'authentication_required'
  | 'expired_card'
  | 'dispute'
  | 'refund_pending'
  | 'refund_fails';

/** What a bank does by itself, done on request: for test helpers. */
export interface TestBank {
  createPaymentMethod(
    input: { card: TestCardName; billing?: Partial<BillingDetails> | undefined },
    call: WriteOptions,
  ): Promise<PaymentMethodOutcome>;
  failRefund(id: string): Promise<RefundOutcome>;
  succeedRefund(id: string): Promise<RefundOutcome>;
  /** The whole charge, if no amount is given. */
  disputeCharge(input: {
    chargeId: string;
    amountCents?: number | undefined;
    reason?: string | undefined;
  }): Promise<DisputeOutcome>;
  decideDispute(id: string, outcome: 'won' | 'lost'): Promise<DisputeOutcome>;
  /** The shopper passes or fails what an intent or a set-up in `requires_action` waits for. */
  authenticate(
    id: string,
    passed: boolean,
  ): Promise<{ kind: 'done' } | Extract<IntentOutcome, { kind: 'rejected' | 'not_now' | 'unknown' }>>;
}
