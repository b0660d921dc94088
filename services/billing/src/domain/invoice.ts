import type { Cents } from '@eligo/values';
import type { InvoiceStatus } from './invoice-states.ts';

/** What one period costs. */
export interface Invoice {
  readonly id: string;
  readonly subscriptionId: string | null;
  readonly customerId: string;
  readonly checkoutSessionId: string | null;
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
  /** How often its payment has failed, and since when. */
  readonly attempts: number;
  readonly firstFailedAt: Date | null;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  /** A card that its issuer has refused for good: it is not charged for this invoice again. */
  readonly refusedPaymentMethodId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  /** Grows with each save; a save of a stale record is refused. */
  readonly version: bigint;
}

/** A line of a renewal's invoice, and the basis on which a health card pays it. */
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
