import type { ProcessorAccount, ProcessorName } from '@eligo/values';
import type { ProcessorEvent } from './events/read-event.ts';
import type { FileContent } from './file-form.ts';
import type {
  BalanceOutcome,
  BalanceTransactionOutcome,
  BalanceTransactionPage,
  BillingDetails,
  ChargeOutcome,
  ConfirmationTokenOutcome,
  CreationOutcome,
  CustomerOutcome,
  DisputeOutcome,
  FileOutcome,
  IntentOutcome,
  NotNow,
  PaymentMethodOutcome,
  PayoutOutcome,
  RefundOutcome,
  Rejected,
  Search,
  SetupOutcome,
  Unknown,
} from './outcomes.ts';

/** How one call is made. */
export interface CallOptions {
  /** For everything that writes. The same key and parameters give the same answer; other parameters are `rejected`. */
  readonly idempotencyKey?: string | undefined;
  /** Total time for connecting, sending and the whole answer; the port's default (6 s) if absent. 0 or less is not sent. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait, not what the processor does: the outcome is then unknown. */
  readonly signal?: AbortSignal | undefined;
  /** False for a call whose outcome says nothing about payments: the breaker does not count it. */
  readonly countsForBreaker?: boolean | undefined;
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

/** `automatic` leaves it to the processor, `any` asks for it where the card has it, `challenge` asks the shopper to act. */
export type ThreeDSecure = 'automatic' | 'any' | 'challenge';

export interface IntentInput {
  /** Goes into the metadata as `attempt`, so that the intent can be found again. */
  readonly attemptId: string;
  readonly amountCents: number;
  readonly capture: 'automatic' | 'manual';
  readonly paymentMethod?: string | undefined;
  readonly customer?: string | undefined;
  /** What the card is kept for, if it is: charges with the shopper alone, or also without. The processor attaches it to the customer once the payment has succeeded. */
  readonly keepsCardFor?: 'on_session' | 'off_session' | undefined;
  /** How the shopper is asked to authenticate. Only where the shopper is there: without one it would be a decline. */
  readonly threeDSecure?: ThreeDSecure | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Only with what is, or may be, a health card. Never more than `amountCents` is sent. */
  readonly healthcare?: HealthcareAmounts | undefined;
  /** The issuer may approve a part of the amount. Only of a hold, and only where the port `asksForParts`. */
  readonly acceptsPart?: boolean | undefined;
}

export interface ConfirmInput {
  readonly paymentMethod?: string | undefined;
  /** In place of a payment method: what the processor's fields made of the card, which becomes the intent's payment method. */
  readonly confirmationToken?: string | undefined;
  /** True when no shopper is there to authenticate: what would need it is then declined. */
  readonly offSession: boolean;
  /** The intent is captured later: the answer then says until when. */
  readonly isHold?: boolean | undefined;
  /** The payment keeps its card for charges without the shopper: the answer then has the mandate of later charges. */
  readonly keepsCard?: boolean | undefined;
  /** The mandate of a saved card, with a charge without its owner. */
  readonly mandate?: string | undefined;
  readonly returnUrl?: string | undefined;
}

/** What a refund takes of one capture. */
export interface CapturePart {
  readonly captureId: string;
  readonly amountCents: number;
}

export interface CaptureInput {
  /** Our id of the capture. Goes with it where refunds name their captures (`refundsByCapture`). */
  readonly captureId?: string | undefined;
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
  /**
   * The captures that it draws from, of an intent that was captured after its hold: at most the amount. The same in each send, and used only where
   * the port `refundsByCapture`.
   */
  readonly captures?: readonly CapturePart[] | undefined;
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
  /** As of a payment. */
  readonly threeDSecure?: ThreeDSecure | undefined;
  readonly customer?: string | undefined;
  readonly paymentMethod?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Evidence by the processor's own field names: texts, and the processor's identifiers of files. */
export interface DisputeEvidence {
  readonly evidence?: Readonly<Record<string, string>> | undefined;
  readonly submit: boolean;
}

export interface EventQuery {
  /** At most twenty. */
  readonly types: readonly string[];
  readonly from: Date;
  /** The id of the last event of the page before. */
  readonly after?: string | undefined;
}

/** Movements on the balance from a time on, and before another if one is given. */
export interface BalanceTransactionQuery {
  readonly from: Date;
  readonly before?: Date | undefined;
  /** The id of the last movement of the page before. */
  readonly after?: string | undefined;
}

/** Movements that an automatic payout took from the balance. */
export interface PayoutQuery {
  readonly payoutId: string;
  /** The id of the last movement of the page before. */
  readonly after?: string | undefined;
}

/** A page of events; more follow unless it is the last. */
export interface EventPage {
  readonly kind: 'page';
  readonly events: readonly ProcessorEvent[];
  /** The page's last event, also one that cannot be read: the next page begins behind it. */
  readonly lastId: string | undefined;
  readonly hasMore: boolean;
  /** When the processor responded, by its own clock. Undefined if it does not say. */
  readonly at: Date | undefined;
}

/**
 * The processor, as one account in one mode sees it. No method throws for what the processor or the network does: the outcome
 * says it. Each throws when it is called inside a database transaction.
 */
export interface ProcessorPort {
  readonly name: ProcessorName;
  /** The processor's account that the calls act on (`Stripe-Account`); undefined for the key's own. */
  readonly processorAccount: string | undefined;
  /** The same with its processor, to be stored with what the calls make. */
  readonly account: ProcessorAccount;
  /** Whether an issuer can be asked to approve a part of an amount. Stripe tells what was authorized, and has no parameter to ask. */
  readonly asksForParts: boolean;
  /** Whether a refund says which captures it draws from. Stripe refunds an intent, and knows no capture by itself. */
  readonly refundsByCapture: boolean;
  /** Known to be down: answer 503 before writing anything. It is found out again in the background. */
  isDown(): boolean;

  createCustomer(input: CustomerInput, call: WriteOptions): Promise<CustomerOutcome>;

  createPaymentMethod(input: PaymentMethodInput, call: WriteOptions): Promise<PaymentMethodOutcome>;
  retrievePaymentMethod(id: string, call?: CallOptions): Promise<PaymentMethodOutcome>;
  attachPaymentMethod(id: string, customer: string, call: WriteOptions): Promise<PaymentMethodOutcome>;
  detachPaymentMethod(id: string, call: WriteOptions): Promise<PaymentMethodOutcome>;
  retrieveConfirmationToken(id: string, call?: CallOptions): Promise<ConfirmationTokenOutcome>;

  /**
   * Unconfirmed: no money moves. An unknown creation is simply repeated under a new key. Throws a RangeError, before anything is sent, for
   * more than 99,999,999 cents: the caller has refused that long before.
   */
  createIntent(input: IntentInput, call: WriteOptions): Promise<CreationOutcome>;
  /** The call that moves money. After `unknown`: retrieve; if still `confirmable`, confirm the same intent under the next key. */
  confirmIntent(id: string, input: ConfirmInput, call: WriteOptions): Promise<IntentOutcome>;
  /** Of a hold it also says until when it can be captured. */
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
  confirmSetupIntent(
    id: string,
    input: Pick<ConfirmInput, 'paymentMethod' | 'confirmationToken'>,
    call: WriteOptions,
  ): Promise<SetupOutcome>;
  retrieveSetupIntent(id: string, call?: CallOptions): Promise<SetupOutcome>;
  /** One that waits for its shopper can then save no card any more. */
  cancelSetupIntent(id: string, call: WriteOptions): Promise<SetupOutcome>;
  /** The set-up intent of a customer whose metadata has this name of ours as `setup_intent`, if it is among the newest. */
  findSetupIntent(customer: string, name: string, call?: CallOptions): Promise<Search<SetupOutcome>>;

  retrieveCharge(id: string, call?: CallOptions): Promise<ChargeOutcome>;
  retrieveDispute(id: string, call?: CallOptions): Promise<DisputeOutcome>;
  updateDispute(id: string, input: DisputeEvidence, call: WriteOptions): Promise<DisputeOutcome>;
  /** Stores a file for the evidence of disputes. Its content is read while it is sent. */
  uploadEvidence(file: FileContent, call: WriteOptions): Promise<FileOutcome>;
  closeDispute(id: string, call: WriteOptions): Promise<DisputeOutcome>;
  /** A page of the account's events of these types from a time on, newest first; each names the object that it is about. */
  listEvents(query: EventQuery, call?: CallOptions): Promise<EventPage | Rejected | NotNow | Unknown>;
  /** The account's balance in US dollars. */
  retrieveBalance(call?: CallOptions): Promise<BalanceOutcome>;
  retrieveBalanceTransaction(id: string, call?: CallOptions): Promise<BalanceTransactionOutcome>;
  /** A page of the movements on the account's balance in US dollars, newest first. */
  listBalanceTransactions(
    query: BalanceTransactionQuery,
    call?: CallOptions,
  ): Promise<BalanceTransactionPage | Rejected | NotNow | Unknown>;
  retrievePayout(id: string, call?: CallOptions): Promise<PayoutOutcome>;
  /** A page of what an automatic payout took, the payout's own movement among it. */
  listPayoutTransactions(
    query: PayoutQuery,
    call?: CallOptions,
  ): Promise<BalanceTransactionPage | Rejected | NotNow | Unknown>;

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
  | 'single_capture'
  | 'mastercard'
  | 'declined'
  | 'hsa_declined'
  | 'hsa_insufficient_funds'
  | 'hsa_short'
  | 'insufficient_funds'
  | 'authentication_required'
  | 'authentication_supported'
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
    /** The bank only asks: no money moves. */
    inquiry?: boolean | undefined;
  }): Promise<DisputeOutcome>;
  decideDispute(id: string, outcome: 'won' | 'lost'): Promise<DisputeOutcome>;
  /** The dispute gets this status of Stripe's, whatever it had. */
  moveDispute(id: string, status: string): Promise<DisputeOutcome>;
  /** All of the account's balance is paid out, also what is not available yet. */
  payOut(): Promise<PayoutOutcome>;
  failPayout(id: string): Promise<PayoutOutcome>;
  /** The shopper passes or fails what an intent or a set-up in `requires_action` waits for. */
  authenticate(
    id: string,
    passed: boolean,
  ): Promise<{ kind: 'done' } | Extract<IntentOutcome, { kind: 'rejected' | 'not_now' | 'unknown' }>>;
}
