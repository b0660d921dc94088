/** What moves in the ledger when a card's part of a refund does. */
export type LedgerKind = 'refund_pending' | 'refund_succeeded' | 'refund_failed' | 'refund_returned';

/** The accounts of this service's ledger: money given back, owed to cards, and held at the processor. */
export type LedgerAccount = 'refunds' | 'refunds_payable' | 'processor_balance';

/** Where a movement's amount is debited and where it is credited. */
export const ledgerSides: Record<LedgerKind, { readonly debit: LedgerAccount; readonly credit: LedgerAccount }> = {
  // A refund is owed from the moment it is pending.
  refund_pending: { debit: 'refunds', credit: 'refunds_payable' },
  refund_succeeded: { debit: 'refunds_payable', credit: 'processor_balance' },
  // It failed before the money left, or was returned after.
  refund_failed: { debit: 'refunds_payable', credit: 'refunds' },
  refund_returned: { debit: 'processor_balance', credit: 'refunds' },
};
