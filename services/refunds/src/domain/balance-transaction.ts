import type { Cents } from '@eligo/values';

/** What a charge, a refund, a dispute or the processor itself moved on the balance. */
export interface BalanceTransaction {
  readonly balanceTransactionId: string;
  readonly type: string;
  readonly amountCents: Cents;
  /** As the processor deducted it; null until the processor has moved all of the amount. */
  readonly feeCents: Cents | null;
  readonly status: 'pending' | 'available';
  /** From when on it can be paid out; null until the processor has moved it. */
  readonly availableOn: Date | null;
  readonly sourceId: string;
  readonly checkoutSessionId: string | null;
  readonly reportingCategory: string;
  readonly createdAt: Date;
}
