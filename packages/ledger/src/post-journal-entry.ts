import { type Cents, cents } from '@eligo/values';
import type { LedgerAccount, Posting } from './ledger-accounts.ts';

/** What a service journals in the transaction that moves the money. */
export type JournalKind = 'capture' | 'refund_pending' | 'refund_succeeded' | 'refund_failed' | 'refund_returned';

/** The two postings of a journal entry. Throws a RangeError for an amount that is not positive: a movement has a direction by its kind alone. */
export function postingsOfJournalEntry(kind: JournalKind, amountCents: Cents): Posting[] {
  if (amountCents <= 0) throw new RangeError('A journal entry needs a positive amount');
  const { debit, credit } = sides[kind];
  return [
    { account: debit, amountCents },
    { account: credit, amountCents: cents(-amountCents) },
  ];
}

const sides: Record<JournalKind, { readonly debit: LedgerAccount; readonly credit: LedgerAccount }> = {
  // The processor owes it until it is on the balance.
  capture: { debit: 'receivable', credit: 'charges' },
  // A refund is owed from the moment it is pending.
  refund_pending: { debit: 'refunds', credit: 'refunds_payable' },
  refund_succeeded: { debit: 'refunds_payable', credit: 'receivable' },
  // It failed before the processor had done it, or was returned after.
  refund_failed: { debit: 'refunds_payable', credit: 'refunds' },
  refund_returned: { debit: 'receivable', credit: 'refunds' },
};
