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
  /** Whether its partner ended the trial with `trial_end: "now"`. */
  readonly trialCutShort: boolean;
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
  /** When the open invoice is charged next; null when none is owed. */
  readonly paymentAt: Date | null;
  /** When the end of its trial is announced. */
  readonly noticeAt: Date | null;
  /** When its customer is mailed that the trial ends or another year begins. The trigger `set_due` sets it with each such period. */
  readonly remindAt: Date | null;
  /** When it gives up while its first payment is outstanding. */
  readonly expiresAt: Date | null;
  /** When the card that its customer set up was recorded. What is told of that set-up later changes nothing. */
  readonly setUpRecordedAt: Date | null;
  /** No process takes up what is due before this time of the wall clock. */
  readonly heldUntil: Date | null;
  readonly items: readonly SubscriptionItem[];
  readonly createdAt: Date;
  /** Grows with each save; a save of a stale record is refused. */
  readonly version: bigint;
}

export interface SubscriptionItem {
  readonly id: string;
  readonly priceId: string;
  /** Null for one that was sold before renewals. */
  readonly productId: string | null;
  readonly quantity: number;
  readonly unitAmountCents: Cents;
  /** As agreed at the sale, for each period. */
  readonly taxCents: Cents;
  /** The tax that was agreed at the sale and the amount on which it was, while a change has scaled it. Null while the item's own are the agreed ones. */
  readonly agreedTaxCents: Cents | null;
  readonly agreedSubtotalCents: Cents | null;
  readonly shippingCents: Cents;
  /** What decided its eligibility when it was sold. */
  readonly soldByRule: string | null;
  /** What the present period was invoiced at, as a whole one, and whether a health card may have paid it. Null if that is not known. */
  readonly invoicedCents: Cents | null;
  readonly invoicedEligible: boolean | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The cards that are charged for a subscription. */
export type CardIds = Pick<Subscription, 'defaultPaymentMethodId' | 'backupPaymentMethodId'>;

/** Whether a card is one of the two that a subscription is charged on. */
export function isOwnCard(
  { defaultPaymentMethodId, backupPaymentMethodId }: CardIds,
  paymentMethodId: string,
): boolean {
  return paymentMethodId === defaultPaymentMethodId || paymentMethodId === backupPaymentMethodId;
}

/** Whether a card that was refused for good is one that a subscription would still be charged on. */
export function isRefusedOwnCard(cards: CardIds, refusedPaymentMethodId: string | null): boolean {
  return refusedPaymentMethodId !== null && isOwnCard(cards, refusedPaymentMethodId);
}
