import type { Cents } from '@eligo/values';

/**
 * The accounts of the ledger; each exists once for a partner, a mode and an account at the processor.
 *
 * `charges`: money that shoppers paid. `refunds`: money given back. `refunds_payable`: refunds that the processor has not accepted yet.
 * `receivable`: money that our records moved and the processor's balance did not yet, or the other way round; zero once both agree.
 * `processor_balance`: the balance at the processor. `fees`, `application_fees`: what was deducted from it. `disputes`: money that disputes took.
 * `payouts`: money that left for the bank. `suspense`: movements of the balance that no record of ours explains.
 */
export const ledgerAccounts = [
  'receivable',
  'processor_balance',
  'charges',
  'refunds',
  'refunds_payable',
  'fees',
  'application_fees',
  'disputes',
  'payouts',
  'suspense',
] as const;

export type LedgerAccount = (typeof ledgerAccounts)[number];

/** An amount on one account: a debit is positive, a credit negative. The postings of one transaction sum to nothing. */
export interface Posting {
  readonly account: LedgerAccount;
  readonly amountCents: Cents;
}
