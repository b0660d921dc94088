import { type Cents, type ProcessorAccount, type StateTable, stateTable } from '@eligo/values';
import type { Leg } from './charge-attempt.ts';

export type PaymentIntentStatus =
  | 'requires_payment_method'
  | 'requires_action'
  | 'processing'
  | 'requires_capture'
  | 'succeeded'
  | 'canceled';

/** Its transitions (decisions 7): received and voided are final, and a hold ends in one of the two. `guard_payment_intent` enforces the same. */
export const paymentIntentStates: StateTable<PaymentIntentStatus> = stateTable<PaymentIntentStatus>({
  requires_payment_method: ['requires_action', 'processing', 'requires_capture', 'succeeded', 'canceled'],
  requires_action: ['requires_payment_method', 'processing', 'requires_capture', 'succeeded', 'canceled'],
  processing: ['requires_payment_method', 'requires_action', 'requires_capture', 'succeeded', 'canceled'],
  requires_capture: ['succeeded', 'canceled'],
  succeeded: [],
  canceled: [],
});

/** Money that a card is to give, or has given, for one leg of a session or an invoice. */
export interface PaymentIntent {
  readonly id: string;
  readonly sessionId: string | null;
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
  readonly customerId: string | null;
  readonly paymentMethodId: string | null;
  readonly leg: Leg;
  readonly captureMethod: 'automatic' | 'manual';
  readonly status: PaymentIntentStatus;
  readonly amountCents: Cents;
  readonly amountCapturableCents: Cents;
  readonly amountReceivedCents: Cents;
  readonly amountRefundedCents: Cents;
  /** What open and lost disputes hold of it. */
  readonly amountDisputedCents: Cents;
  /** Where it is; null for one of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  readonly processorIntentId: string | null;
  readonly latestChargeId: string | null;
  /** Until when its hold can be captured; null where nothing was held. */
  readonly captureBefore: Date | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
}

/** What one authorization of an intent did; a declined one is a charge too. */
export interface Charge {
  readonly id: string;
  readonly paymentIntentId: string;
  readonly paymentMethodId: string | null;
  readonly status: 'succeeded' | 'pending' | 'failed';
  readonly amountCents: Cents;
  readonly amountCapturedCents: Cents;
  readonly amountRefundedCents: Cents;
  readonly failureCode: string | null;
  readonly declineCode: string | null;
  readonly balanceTransactionId: string | null;
  readonly disputed: boolean;
  readonly createdAt: Date;
}
