import type { Cents } from '@eligo/values';
import type { Address } from './address.ts';
import type { ThreeDSecure } from './charge-attempt.ts';
import type { SessionStatus } from './session-states.ts';

export type SessionMode = 'payment' | 'subscription' | 'off_session' | 'setup' | 'reimbursement';
export type CaptureMethod = 'automatic' | 'manual';

/**
 * What has become of the fee for the review of a session's letters: `pending` until the session ends; `paid` with its cards; `refunded` where no card needed a
 * letter, so that nothing was reviewed, or where each was denied and another card paid; `canceled` where nothing of it is captured, as after a denied letter, or where the
 * shop has refunded it with its lines; `waived` by a letter that the customer had.
 */
export type LetterFeeStatus = 'pending' | 'paid' | 'refunded' | 'canceled' | 'waived';

/** Whether a health card may pay. A session in mode `reimbursement` is paid with an ordinary card: the shopper hands its receipt in to their plan. */
export function takesHealthCards({ mode }: Pick<Session, 'mode'>): boolean {
  return mode !== 'reimbursement';
}

/** Whether the card may be charged again after the session, without its owner. */
export function chargesItsCardLater({ mode, setupFutureUse }: Pick<Session, 'mode' | 'setupFutureUse'>): boolean {
  return (mode !== 'payment' && mode !== 'reimbursement') || setupFutureUse === 'off_session';
}

/** Whether its creation charges the stored card that it names, without its owner. */
export function isChargedAtCreation({ mode, paymentMethodId }: Pick<Session, 'mode' | 'paymentMethodId'>): boolean {
  return mode === 'off_session' && paymentMethodId !== null;
}

/** Whether its creation charges more than what is eligible. */
export function isChargedWhole(
  session: Pick<Session, 'mode' | 'paymentMethodId' | 'amountEligibleCents' | 'amountTotalCents'>,
): boolean {
  return isChargedAtCreation(session) && session.amountEligibleCents < session.amountTotalCents;
}

/** Whether a card is kept for payments that its owner attends, or for those without its owner. */
export type CardUse = 'on_session' | 'off_session';

/** What a card that the session keeps is kept for. While a letter is reviewed its card may be authorized again without its owner. */
export function cardUseOf(session: Pick<Session, 'mode' | 'setupFutureUse' | 'letterRequired'>): CardUse {
  const isReviewed = session.letterRequired && takesHealthCards(session);
  const isOnSession = session.setupFutureUse === 'on_session' && !chargesItsCardLater(session) && !isReviewed;
  return isOnSession ? 'on_session' : 'off_session';
}

/** A checkout session: a cart with its stored split, and how far its payment has come. */
export interface Session {
  readonly id: string;
  readonly status: SessionStatus;
  readonly mode: SessionMode;
  readonly captureMethod: CaptureMethod;
  readonly customerId: string | null;
  readonly customerEmail: string | null;
  /** The clock of the customer, if that one lives on a clock. */
  readonly testClockId: string | null;
  /** The payment method named at creation (off_session). */
  readonly paymentMethodId: string | null;
  readonly clientReferenceId: string | null;
  readonly setupFutureUse: string | null;

  // The split: made at creation (decisions 6), and anew when the shopper enters or removes a promo code before a card is given; a denied letter may append a
  // version, which changes what is eligible alone.
  readonly amountSubtotalCents: Cents;
  readonly amountDiscountCents: Cents;
  readonly amountTaxCents: Cents;
  readonly amountShippingCents: Cents;
  readonly amountFeeCents: Cents;
  readonly amountTotalCents: Cents;
  readonly amountEligibleCents: Cents;
  readonly amountIiasCents: Cents;
  readonly amountPrescriptionCents: Cents;
  readonly amountVisionCents: Cents;
  readonly amountServiceCents: Cents;
  readonly letterRequired: boolean;
  readonly letterFeeCents: Cents | null;
  readonly letterFeeStatus: LetterFeeStatus | null;
  readonly splitCartId: string | null;
  readonly visitType: string | null;
  readonly fees: readonly SessionFee[];
  readonly discounts: readonly SessionDiscount[];
  /** The discount of the promo code that the shopper entered, if there is one. */
  readonly enteredDiscountId: string | null;

  // What payment changes.
  readonly amountReceivedCents: Cents;
  readonly amountRefundedCents: Cents;
  readonly amountDisputedCents: Cents;
  /** Oldest first. */
  readonly paymentIntentIds: readonly string[];
  readonly refundIds: readonly string[];
  readonly captureIds: readonly string[];
  readonly disputeIds: readonly string[];
  readonly setupIntentId: string | null;
  readonly subscriptionId: string | null;
  readonly invoiceId: string | null;
  readonly nextAction: NextAction | null;
  /** How many cards were declined on its page, and by requests of the shop. */
  readonly declinesOnPage: number;
  readonly declinesByRequest: number;
  /** How many cards were typed on its page and not charged at once. */
  readonly typedCards: number;

  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
  /** When it was canceled or expired. */
  readonly endedAt: Date | null;
  readonly renewalAsOf: Date | null;
  readonly shippingDetails: Address | null;
  readonly storefrontPaymentDetails: StorefrontPaymentDetails | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly details: SessionDetails;
  /** Grows with each save; a save of a stale record is refused. */
  readonly version: bigint;
}

export interface SessionFee {
  readonly id: string;
  readonly amountCents: Cents;
  readonly name: string | null;
  readonly description: string | null;
  readonly feeType: string | null;
  readonly applied: boolean;
  readonly waivedReason: string | null;
}

export interface SessionDiscount {
  readonly id: string;
  readonly couponId: string;
  readonly promoCodeId: string | null;
  /** The coupon as it stood when the discount was made: the JSON form of the catalog's message. */
  readonly coupon: unknown;
  /** What it took off, over all lines. */
  readonly amountCents: Cents;
  /** The code as the partner wrote it, where the shopper entered it on the page; null for a discount that the partner gave. */
  readonly enteredCode: string | null;
}

/** What must happen next for the session to be paid (interface, next_action). */
export interface NextAction {
  readonly type:
    | 'collect_letter_of_medical_necessity'
    | 'payment_failed'
    | 'provide_second_payment_method'
    | 'provide_alternative_payment_method';
  readonly url?: string;
  readonly message?: string;
  readonly declineCode?: string;
  readonly errorCode?: string;
  readonly eligibleAmountCents?: Cents;
  readonly ineligibleAmountCents?: Cents;
}

export interface StorefrontPaymentDetails {
  readonly gateway?: string;
  readonly wallet?: string;
  readonly cardBrand?: string;
  readonly cardLast4?: string;
}

/** What is only rendered back. No decision reads it but the subscription's, and what the page asks of its shopper. */
export interface SessionDetails {
  readonly allowPromotionCodes?: boolean;
  readonly cancelUrl?: string;
  readonly successUrl?: string;
  readonly redirectUrl?: string;
  readonly origin?: string;
  /** Present when the shopper is mailed a receipt: the merchant as the shopper knows it. */
  readonly receiptMerchantName?: string;
  /** Present when the shopper typed `customerEmail` on the page. Absent when the shop gave it. */
  readonly emailFromShopper?: true;
  /** Present when the customer was made of the shopper of this session. Absent when the shop named one, or the card had one. */
  readonly customerFromShopper?: true;
  /** The payment link that opened the session. */
  readonly paymentLinkId?: string;
  readonly defaults?: {
    readonly customerId?: string;
    readonly email?: string;
    readonly firstName?: string;
    readonly lastName?: string;
    readonly phone?: string;
  };
  /** Present when the session has a shipping option; its amount is the session's amountShippingCents. */
  readonly shipping?: { readonly shippingRateId?: string; readonly displayName?: string };
  readonly shippingAddressCollection?: boolean;
  readonly customText?: {
    readonly afterSubmitMessage?: string;
    readonly shippingAddressMessage?: string;
    readonly submitMessage?: string;
    readonly termsOfServiceAcceptanceMessage?: string;
    readonly paymentMessage?: string;
    readonly termsOfServiceCheckboxRequired?: boolean;
  };
  readonly subscriptionData?: SubscriptionData;
  /** Whether a tax was given, to distinguish a tax of 0 from none. */
  readonly taxGiven?: boolean;
  readonly requestThreeDSecure?: ThreeDSecure;
  readonly sellingPlans?: readonly SellingPlan[];
}

/** Times in Unix milliseconds. */
export interface SubscriptionData {
  readonly cancelAtMs?: number;
  readonly trialEndMs?: number;
  readonly cancelAtPeriodEnd?: boolean;
  readonly trialPeriodDays?: number;
  readonly missingPaymentMethod?: string;
}

export interface SellingPlan {
  readonly id?: string;
  readonly name?: string;
  readonly interval?: string;
  readonly intervalCount?: number;
}

/** A line of a session, with its part of every amount. */
export interface SessionLine {
  readonly id: string;
  readonly sessionId: string;
  readonly position: number;
  readonly priceId: string;
  readonly productId: string;
  readonly description: string | null;
  readonly quantity: number;
  readonly unitAmountCents: Cents;
  readonly amountSubtotalCents: Cents;
  readonly amountDiscountCents: Cents;
  readonly amountTaxCents: Cents;
  readonly amountShippingCents: Cents;
  readonly amountFeeCents: Cents;
  readonly amountTotalCents: Cents;
  readonly amountEligibleCents: Cents;
  /** Null when nothing classified it, which counts as not eligible. */
  readonly eligibilityClass: string | null;
  readonly eligibilityRule: string;
  readonly eligibilityRuleVersion: string;
  readonly rationale: string;
  readonly recurring: {
    readonly interval: string;
    readonly intervalCount: number;
    readonly trialDays: number | null;
  } | null;
  readonly amountCapturedCents: Cents;
  readonly amountRefundedCents: Cents;
  /** What of its share of the letter fee is given back, and what of that is refunded. 0 while no letter fee is given back. */
  readonly letterFeeGivenBackCents: Cents;
  readonly letterFeeRefundedCents: Cents;
  /** The intent of the card that paid it, once it is paid. */
  readonly paymentIntentId: string | null;
}

/** A letter that the customer had when the session was created: the session needs none for this product. */
export interface ExistingLetter {
  readonly productId: string;
  readonly letterId: string;
}

/** What a health card may be charged for a session; its id is the session's split cart. */
export interface EligibilityRecord {
  readonly id: string;
  readonly sessionId: string;
  readonly eligibleCents: Cents;
  readonly foodPolicy: boolean;
  readonly policyVersion: string | null;
  readonly chargedAttemptId: string | null;
}
