import type { Cents } from '@eligo/values';
import type { InvoiceStatus } from './invoice-states.ts';

/** Why an invoice was made: at the beginning of a subscription or of a later period, or for a change within one. */
export type BillingReason = 'subscription_create' | 'subscription_cycle' | 'subscription_update';

/** What one period costs, or a change within it. */
export interface Invoice {
  readonly id: string;
  readonly subscriptionId: string | null;
  readonly customerId: string;
  readonly checkoutSessionId: string | null;
  /** Null for one that was made before reasons were kept. */
  readonly billingReason: BillingReason | null;
  readonly status: InvoiceStatus;
  readonly totalCents: Cents;
  /** The part of the total that a health card may pay. */
  readonly eligibleCents: Cents;
  readonly amountPaidCents: Cents;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly backupChargeStatus: 'pending' | 'succeeded' | 'failed' | null;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly finalizedAt: Date | null;
  readonly paidAt: Date | null;
  /** Where its customer pays it; null for one that was paid with its session, or was made before there were such pages. */
  readonly pageUrl: string | null;
  /** The card that the partner named or the customer typed to pay it, in place of the subscription's. */
  readonly payWithPaymentMethodId: string | null;
  /** Whether the customer pays on the page: with that card and the backup below alone, and there to authenticate. */
  readonly paysOnPage: boolean;
  readonly payWithBackupPaymentMethodId: string | null;
  /** When the schedule charges the subscription's own cards, while a card that was named or typed is tried before. */
  readonly scheduledPaymentAt: Date | null;
  /** How often its payment has failed, and since when. */
  readonly attempts: number;
  /** How many of these were tries on the page for which no typed card could be charged. */
  readonly pageTriesWithoutCharge: number;
  readonly firstFailedAt: Date | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** A card that its issuer has refused for good: it is not charged for this invoice again. */
  readonly refusedPaymentMethodId: string | null;
  /** Whether the health card refused its part in the try that is under way, or that paid: the other card pays all that is left. */
  readonly healthRefused: boolean;
  /** The other card, if its issuer refused it for good in such a try. */
  readonly refusedBackupPaymentMethodId: string | null;
  /** The subscription's cards that their banks updated while a charge was under way, and that were not charged since: a failure is followed by another try at once. */
  readonly updatedPaymentMethodIds: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  /** Grows with each save; a save of a stale record is refused. */
  readonly version: bigint;
}

/** An invoice that billing makes for a subscription. */
export interface SubscriptionInvoice extends Invoice {
  readonly subscriptionId: string;
}

/** The fields of a new invoice that its payment and its page fill in. */
export const notCollected = {
  pageUrl: null,
  payWithPaymentMethodId: null,
  paysOnPage: false,
  payWithBackupPaymentMethodId: null,
  scheduledPaymentAt: null,
  attempts: 0,
  pageTriesWithoutCharge: 0,
  firstFailedAt: null,
  failureCode: null,
  declineCode: null,
  refusedPaymentMethodId: null,
  healthRefused: false,
  refusedBackupPaymentMethodId: null,
  updatedPaymentMethodIds: [],
} as const satisfies Partial<Invoice>;

/** A line of an invoice, and the basis on which a health card pays it. */
export interface InvoiceLine {
  readonly subscriptionItemId: string;
  readonly priceId: string;
  readonly productId: string | null;
  readonly quantity: number;
  readonly unitAmountCents: Cents;
  readonly subtotalCents: Cents;
  readonly discountCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly totalCents: Cents;
  readonly eligibleCents: Cents;
  readonly eligibility: string | null;
  readonly rule: string;
  readonly ruleVersion: string;
  readonly rationale: string;
  /** The letter of medical necessity by which a health card pays it. */
  readonly letterId: string | null;
  /** The proration that it charges; null for a whole period. */
  readonly prorationId: string | null;
}

/** A part of a credit that an invoice carries. */
export interface UsedCredit {
  readonly prorationId: string;
  readonly amountCents: Cents;
  /** Whether it reduces the part that a health card may pay, or the other one. */
  readonly eligible: boolean;
}

/** What an invoice is made of. */
export interface ProratedLines {
  readonly lines: readonly InvoiceLine[];
  readonly credits: readonly UsedCredit[];
}

export type ChargeStatus = 'pending' | 'succeeded' | 'declined' | 'abandoned';

/** A charge that checkout is asked for, under its operation id. */
export interface InvoiceCharge {
  readonly id: string;
  readonly invoiceId: string;
  readonly leg: 'health' | 'other';
  /** Whether it is on the subscription's backup card. */
  readonly backup: boolean;
  readonly paymentMethodId: string;
  /** Whether the customer pays on the invoice's page. */
  readonly onPage: boolean;
  /** Whether it is of a first payment, whose customer can authenticate on the partner's page. */
  readonly withCustomer: boolean;
  readonly amountCents: Cents;
  readonly status: ChargeStatus;
  readonly actingAt: Date;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** By the wall clock. */
  readonly createdAt: Date;
}
