import type { Cents, Interval } from '@eligo/values';
import type { SubscriptionStatus } from './subscription-states.ts';

/** What a customer pays for again and again. */
export interface Subscription {
  readonly id: string;
  readonly customerId: string;
  readonly checkoutSessionId: string | null;
  readonly testClockId: string | null;
  readonly status: SubscriptionStatus;
  readonly anchor: Date;
  readonly interval: Interval;
  readonly intervalCount: number;
  readonly currentPeriodStart: Date;
  readonly currentPeriodEnd: Date;
  readonly trialStart: Date | null;
  readonly trialEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly cancelAt: Date | null;
  readonly canceledAt: Date | null;
  readonly latestInvoiceId: string | null;
  readonly defaultPaymentMethodId: string | null;
  readonly backupPaymentMethodId: string | null;
  readonly prorationBehavior: string | null;
  readonly missingPaymentMethod: string | null;
  /** Each the JSON form of the checkout's discount message. */
  readonly discounts: readonly unknown[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly items: readonly SubscriptionItem[];
  readonly createdAt: Date;
  /** Grows with each save; a save of a stale record is refused. */
  readonly version: bigint;
}

export interface SubscriptionItem {
  readonly id: string;
  readonly priceId: string;
  readonly quantity: number;
  readonly unitAmountCents: Cents;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type InvoiceStatus = 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';

/** What one period costs. */
export interface Invoice {
  readonly id: string;
  readonly subscriptionId: string | null;
  readonly customerId: string;
  readonly checkoutSessionId: string | null;
  readonly status: InvoiceStatus;
  readonly totalCents: Cents;
  readonly amountPaidCents: Cents;
  readonly paymentIntentId: string | null;
  readonly chargeId: string | null;
  readonly backupChargeStatus: string | null;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly paidAt: Date | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}
