import type { Cents, ProcessorAccount } from '@eligo/values';
import type { AttemptStatus, ItemStatus, RefundStatus } from './refund-states.ts';

/** What is to be refunded: a session, or one payment intent. */
export type RefundSubject =
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'payment_intent'; readonly paymentIntentId: string };

/** A refund that was asked for and is not yet taken out of what remains. */
export interface RequestedRefund {
  readonly refundId: string;
  readonly subject: RefundSubject;
  /** The RefundInstruction message, encoded: how much, of what. */
  readonly instruction: Uint8Array;
  /** The features that the caller had when it asked. */
  readonly features: readonly string[];
  readonly operationId: string | null;
  readonly reason: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly subscriptionId: string | null;
  readonly invoiceId: string | null;
}

/** A reference by which a card's bank can find a refund. */
export interface RefundReference {
  readonly id: string | null;
  readonly type: string | null;
  readonly status: string | null;
}

/** What a card's part takes of one capture. */
export interface RefundedCapture {
  readonly captureId: string;
  readonly amountCents: Cents;
}

/** A card's part of a refund. */
export interface RefundItem {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly chargeId: string;
  /** Where its money is; null for one of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  readonly processorIntentId: string;
  readonly amountCents: Cents;
  readonly status: ItemStatus;
  readonly endStatus: 'failed' | 'canceled' | null;
  readonly reference: RefundReference;
  /** What it moves on the balance; null for one of an earlier release, whose refund has one for all cards. */
  readonly balanceTransactionId: string | null;
  /** The captures that it draws from; none of a card that was charged at once. */
  readonly captures: readonly RefundedCapture[];
}

/** A refund as partners see it. */
export interface Refund {
  readonly refundId: string;
  readonly status: RefundStatus;
  readonly amountCents: Cents;
  readonly failedCents: Cents;
  readonly paymentIntentId: string;
  readonly checkoutSessionId: string | null;
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
  readonly invoiceId: string | null;
  readonly reason: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly reference: RefundReference;
  /** That of its first card, as are its payment intent and its reference. */
  readonly balanceTransactionId: string;
  readonly failureBalanceTransactionId: string | null;
  readonly createdAt: Date;
  readonly testMode: boolean;
  readonly items: readonly RefundItem[];
}

/** One try at giving a card its part back; its id is the processor's idempotency key. */
export interface RefundAttempt {
  readonly attemptId: string;
  readonly refundId: string;
  readonly paymentIntentId: string;
  /** That of its card's part. */
  readonly processorAccount: ProcessorAccount | null;
  readonly processorIntentId: string;
  readonly amountCents: Cents;
  /** Those of its card's part. */
  readonly captures: readonly RefundedCapture[];
  readonly status: AttemptStatus;
  readonly epoch: number;
  readonly sends: number;
  readonly checks: number;
  readonly firstSentAt: Date | null;
  readonly processorRefundId: string | null;
  /** The database's time, which leases and pauses are measured by. */
  readonly now: Date;
}

/** The amount that a refund returns: all of it, or the amount of the cards that did not fail. */
export function amountReturned(refund: Pick<Refund, 'status' | 'amountCents' | 'failedCents'>): number {
  return refund.status === 'failed' || refund.status === 'canceled'
    ? refund.amountCents
    : refund.amountCents - refund.failedCents;
}
