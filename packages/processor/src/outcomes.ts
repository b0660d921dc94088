import type { Cents } from '@eligo/values';

/**
 * Why the outcome of a call is unknown:
 * `timeout` (no complete answer within its time), `connection` (refused, reset or broken off), `server_error` (5xx),
 * `in_progress` (409: another request with this key is running), `rate_limited` (a 429 that the processor has stored under the key and
 * replays), `unreadable` (not what was expected),
 * `breaker_open` (known down: not sent at all), `aborted` (the caller's signal).
 */
export type UnknownReason =
  | 'timeout'
  | 'connection'
  | 'server_error'
  | 'in_progress'
  | 'rate_limited'
  | 'unreadable'
  | 'breaker_open'
  | 'aborted';

/** The outcome is unknown. Never treat it as a failure: read the record, or retry with the same key. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly reason: UnknownReason;
  /** False when it is certain that the request was not carried out: it never left, or was turned away at the door. */
  readonly mayHaveHappened: boolean;
  /**
   * True when the processor replayed a stored 500 or 429: the key will give that answer until it lapses, and no late request with it can
   * do anything any more. So what can be read now is final, and only a new key can still carry it out.
   */
  readonly replayed: boolean;
}

/**
 * A 429: a rate limit, or a lock on the object that another request holds. The processor turned this request away before it carried it
 * out and stored nothing under its key, so send the same request under the same key after `retryAfterMs`. Count no try: it says nothing
 * about the request, nor about what an earlier send did.
 */
export interface NotNow {
  readonly kind: 'not_now';
  /** The answer's Retry-After, at least 1 and at most 60 seconds; 1 if it has none. */
  readonly retryAfterMs: number;
}

/** A definite refusal of our request as such (4xx): nothing was charged, and sending it again gives the same. */
export interface Rejected {
  readonly kind: 'rejected';
  /** Stripe's error code, or its error type where there is none: `resource_missing`, `idempotency_error`, … */
  readonly code: string;
  readonly status: number;
  readonly param: string | undefined;
}

/** The card said no; nothing was charged. Terminal for this confirmation. */
export interface Declined {
  readonly kind: 'declined';
  /** `card_declined`, `expired_card`, `authentication_required`, … */
  readonly code: string;
  /** `insufficient_funds`, `generic_decline`, … */
  readonly declineCode: string | undefined;
  readonly chargeId: string | undefined;
}

/** What an intent stands at. */
export interface IntentFacts {
  readonly intentId: string;
  readonly amountCents: Cents;
  readonly amountCapturableCents: Cents;
  readonly amountReceivedCents: Cents;
  readonly currency: string;
  readonly customerId: string | undefined;
  readonly paymentMethodId: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** For a shopper's browser only. Never stored, never logged. */
  readonly clientSecret: string | undefined;
  /** Where the shopper authenticates, if that is by a page. */
  readonly nextActionUrl: string | undefined;
}

/** What later charges of a saved card without its owner refer to, where the processor gives it. */
export interface CardAgreement {
  /** The processor's record of the owner's consent. */
  readonly mandateId: string | undefined;
  /** By which the card's network knows the charge that the owner made. */
  readonly networkTransactionId: string | undefined;
}

/** Charged (`succeeded`) or held (`requires_capture`). */
export interface Approved extends IntentFacts {
  readonly kind: 'succeeded' | 'requires_capture';
  readonly chargeId: string;
  /** Until when a hold can be captured, where the answer says so. */
  readonly captureBefore: Date | undefined;
  /** Where the answer has the charge: of a hold, and of a payment that keeps its card. */
  readonly agreement: CardAgreement | undefined;
}

/** `confirmable`: it can be confirmed, and was not (no money moved); `requires_action`: the shopper must authenticate. */
export interface Undecided extends IntentFacts {
  readonly kind: 'confirmable' | 'requires_action' | 'processing' | 'canceled';
}

export type IntentOutcome = Approved | Undecided | Declined | Rejected | NotNow | Unknown;

/** Made, unconfirmed: it holds no money. */
export type CreationOutcome = (IntentFacts & { readonly kind: 'created' }) | Declined | Rejected | NotNow | Unknown;

export interface RefundFacts {
  readonly refundId: string;
  readonly amountCents: Cents;
  readonly intentId: string | undefined;
  readonly chargeId: string | undefined;
  readonly failureReason: string | undefined;
  readonly balanceTransactionId: string | undefined;
  readonly failureBalanceTransactionId: string | undefined;
  /** By which the card's bank finds it; the number itself comes once the status is `available`. */
  readonly reference: RefundReference;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface RefundReference {
  readonly id: string | undefined;
  /** `acquirer_reference_number`, … */
  readonly type: string | undefined;
  /** `pending`, `available` or `unavailable`. */
  readonly status: string | undefined;
}

/** `failed` and `canceled` are facts of a refund that existed; `rejected` says that there is none. */
export type RefundOutcome =
  | (RefundFacts & { readonly kind: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled' })
  | Rejected
  | NotNow
  | Unknown;

export interface SetupFacts {
  readonly agreement: CardAgreement | undefined;
  readonly setupIntentId: string;
  readonly customerId: string | undefined;
  readonly paymentMethodId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly nextActionUrl: string | undefined;
}

export type SetupOutcome =
  | (SetupFacts & { readonly kind: 'confirmable' | 'requires_action' | 'processing' | 'succeeded' | 'canceled' })
  /** Another card can be given with the same secret, where the processor tells it. */
  | (Declined & { readonly clientSecret?: string | undefined })
  | Rejected
  | NotNow
  | Unknown;

export interface CardFacts {
  readonly brand: string;
  readonly country: string | undefined;
  readonly expMonth: number;
  readonly expYear: number;
  readonly funding: string;
  readonly last4: string;
  /** Whether it is a health card; null when the processor does not say. */
  readonly hsaFsa: boolean | null;
  /** The first digits of its issuer's range, six or eight, where the processor gives them. To look up, never to store. */
  readonly iin: string | undefined;
}

export interface PaymentMethodFacts {
  readonly paymentMethodId: string;
  readonly customerId: string | undefined;
  readonly card: CardFacts;
  readonly billing: BillingDetails;
}

export interface BillingDetails {
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly phone: string | undefined;
  readonly address: Readonly<Record<string, string>> | undefined;
}

export type PaymentMethodOutcome =
  | (PaymentMethodFacts & { readonly kind: 'found' })
  | Declined
  | Rejected
  | NotNow
  | Unknown;

/** What a browser made of the card that was typed into the processor's fields, to confirm one intent with. It is used once. */
export interface ConfirmationTokenFacts {
  readonly confirmationTokenId: string;
  /** It has confirmed an intent already. */
  readonly isUsed: boolean;
  readonly card: CardFacts;
  readonly billing: BillingDetails;
}

export type ConfirmationTokenOutcome =
  | (ConfirmationTokenFacts & { readonly kind: 'found' })
  | Declined
  | Rejected
  | NotNow
  | Unknown;

export type CustomerOutcome = { readonly kind: 'found'; readonly customerId: string } | Rejected | NotNow | Unknown;

/** The first record that matches, or that none was found (which proves nothing while an orphan may be on its way). */
export type Search<Found> = Found | { readonly kind: 'none' };

export interface DisputeFacts {
  readonly disputeId: string;
  readonly chargeId: string | undefined;
  readonly intentId: string | undefined;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly status: string;
  readonly reason: string;
  /** Unix seconds, or undefined when no answer is due. */
  readonly dueBy: number | undefined;
  readonly submissionCount: number;
  readonly hasEvidence: boolean;
  /** What was given, by field: texts, and the processor's identifiers of files. */
  readonly evidence: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly balanceTransactionIds: readonly string[];
  /** What it took from the balance, and brought back. */
  readonly movements: readonly BalanceTransactionFacts[];
}

/** A file that the processor has. */
export type FileOutcome = { readonly kind: 'stored'; readonly fileId: string } | Rejected | NotNow | Unknown;

export type DisputeOutcome = (DisputeFacts & { readonly kind: 'found' }) | Rejected | NotNow | Unknown;

export interface BalanceTransactionFacts {
  readonly balanceTransactionId: string;
  readonly type: string;
  /** Of the balance that it moved, which may be another than that of the payment. */
  readonly currency: string;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  /** The part of the fee that an application took. */
  readonly applicationFeeCents: Cents;
  readonly netCents: Cents;
  readonly status: string;
  /** Unix seconds. */
  readonly availableOn: number;
  readonly sourceId: string | undefined;
  readonly reportingCategory: string;
  /** The processor's time, to the second. */
  readonly createdAt: Date;
}

/** Money on its way from the balance to the account holder's bank. */
export interface PayoutFacts {
  readonly payoutId: string;
  readonly amountCents: Cents;
  readonly currency: string;
  /** `pending`, `in_transit`, `paid`, `failed` or `canceled`. */
  readonly status: string;
  /** Unix seconds. */
  readonly arrivalDate: number;
  /** The processor decided what it takes, and lists it: of another, nothing says what it is made of. */
  readonly automatic: boolean;
  readonly balanceTransactionId: string | undefined;
  readonly failureCode: string | undefined;
  readonly createdAt: Date;
}

export type PayoutOutcome = (PayoutFacts & { readonly kind: 'found' }) | Rejected | NotNow | Unknown;

/** What an account has at the processor, whether it is available or not. */
export type BalanceOutcome = { readonly kind: 'found'; readonly amountCents: Cents } | Rejected | NotNow | Unknown;

/** A page of movements on the balance, newest first; more follow unless it is the last. */
export interface BalanceTransactionPage {
  readonly kind: 'page';
  /** Those in US dollars: an account can have a balance in each of several currencies, and Eligo's books are in one. */
  readonly transactions: readonly BalanceTransactionFacts[];
  readonly hasMore: boolean;
  /** The last one that the processor listed, in whatever currency: the next page begins behind it. Undefined when it listed none. */
  readonly lastId: string | undefined;
  /** When the processor responded, by its own clock. Undefined if it does not say. */
  readonly at: Date | undefined;
}

export type BalanceTransactionOutcome =
  | (BalanceTransactionFacts & { readonly kind: 'found' })
  | Rejected
  | NotNow
  | Unknown;

export interface ChargeFacts {
  readonly chargeId: string;
  readonly intentId: string | undefined;
  readonly amountCents: Cents;
  readonly amountCapturedCents: Cents;
  readonly amountRefundedCents: Cents;
  readonly status: string;
  readonly disputed: boolean;
  readonly balanceTransactionId: string | undefined;
  readonly failureCode: string | undefined;
  /** Whether its hold can be captured in several parts. */
  readonly allowsSeveralCaptures: boolean;
}

export type ChargeOutcome = (ChargeFacts & { readonly kind: 'found' }) | Rejected | NotNow | Unknown;
