import { type Cents, cents } from '@eligo/values';

/** What moves in the ledger when a card's part of a refund does. */
export type LedgerKind = 'refund_pending' | 'refund_succeeded' | 'refund_failed' | 'refund_returned';

/** The accounts of this service's ledger: money given back, owed to cards, and held at the processor. */
export type LedgerAccount = 'refunds' | 'refunds_payable' | 'processor_balance';

/** One side of a movement: debits are positive, credits negative. */
export interface LedgerEntry {
  readonly account: LedgerAccount;
  readonly amountCents: Cents;
}

/** The two sides of a movement; they sum to nothing. */
export function ledgerPair(kind: LedgerKind, amount: Cents): readonly [LedgerEntry, LedgerEntry] {
  const [debit, credit] = sides[kind];
  return [
    { account: debit, amountCents: amount },
    { account: credit, amountCents: cents(-amount) },
  ];
}

const sides: Record<LedgerKind, readonly [LedgerAccount, LedgerAccount]> = {
  // A refund is owed from the moment it is pending.
  refund_pending: ['refunds', 'refunds_payable'],
  refund_succeeded: ['refunds_payable', 'processor_balance'],
  // It failed before the money left, or was returned after.
  refund_failed: ['refunds_payable', 'refunds'],
  refund_returned: ['processor_balance', 'refunds'],
};
