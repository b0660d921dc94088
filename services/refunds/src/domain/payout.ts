import type { Cents, ProcessorAccount } from '@eligo/values';

/** Money that the processor sends from the balance to the account holder's bank. */
export interface Payout {
  readonly payoutId: string;
  readonly amountCents: Cents;
  readonly currency: string;
  readonly status: string;
  /** When the bank has it, or will; null until the processor was asked. */
  readonly arrivalAt: Date | null;
  readonly failureCode: string | null;
  /** Null until its movement on the balance is posted. */
  readonly balanceTransactionId: string | null;
  readonly createdAt: Date;
}

/** The processor's name of a payout. */
export interface PayoutAtProcessor {
  readonly processorAccount: ProcessorAccount;
  readonly processorPayoutId: string;
}

const finalStatuses: ReadonlySet<string> = new Set(['paid', 'failed', 'canceled']);

/** Nothing more happens to it, or its failure moves the balance, which has it looked at again. */
export function isSettledPayout(status: string): boolean {
  return finalStatuses.has(status);
}
