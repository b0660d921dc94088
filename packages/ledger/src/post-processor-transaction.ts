import { type Cents, cents } from '@eligo/values';
import type { LedgerAccount, Posting } from './ledger-accounts.ts';

/** A movement on the balance as the processor reports it; amounts are signed as there, and a fee is what was deducted. */
export interface BalanceMovement {
  readonly type: string;
  readonly reportingCategory: string;
  readonly amountCents: Cents;
  readonly feeCents: Cents;
  /** The part of the fee that an application took. */
  readonly applicationFeeCents: Cents;
  readonly netCents: Cents;
}

/** What kind of movement a type of the processor is. `other` is explained by no rule, and waits in suspense for an operator. */
export type MovementKind = 'charge' | 'refund' | 'dispute' | 'payout' | 'application_fee' | 'other';

/** The kind of a movement. Types that are not known are `other`, so that a new one is never an error. */
export function movementKindOf({
  type,
  reportingCategory,
}: Pick<BalanceMovement, 'type' | 'reportingCategory'>): MovementKind {
  if (type === 'adjustment') {
    return reportingCategory === 'dispute' || reportingCategory === 'dispute_reversal' ? 'dispute' : 'other';
  }
  return kinds.get(type) ?? 'other';
}

/**
 * The postings of a movement on the balance: exactly its net on `processor_balance`, its fees, and its amount against the account of its kind. `isOurs`
 * is false for a charge or a refund that no record of ours has, such as one made by hand at the processor: it goes against suspense. So does a net
 * that is not amount − fee. A movement of nothing has no postings.
 */
export function postingsOfMovement(movement: BalanceMovement, isOurs: boolean): Posting[] {
  const { amountCents, feeCents, applicationFeeCents, netCents } = movement;
  const kind = movementKindOf(movement);
  const isExplained = (kind !== 'charge' && kind !== 'refund') || isOurs;
  const sums = new Map<LedgerAccount, number>();
  const add = (account: LedgerAccount, amount: number) => sums.set(account, (sums.get(account) ?? 0) + amount);
  add('processor_balance', netCents);
  add('fees', feeCents - applicationFeeCents);
  add('application_fees', applicationFeeCents);
  add(isExplained ? counterparts[kind] : 'suspense', -amountCents);
  add('suspense', amountCents - feeCents - netCents);
  return [...sums]
    .filter(([, amount]) => amount !== 0)
    .map(([account, amount]) => ({ account, amountCents: cents(amount) }));
}

const kinds = new Map<string, MovementKind>([
  ['charge', 'charge'],
  ['payment', 'charge'],
  ['refund', 'refund'],
  ['payment_refund', 'refund'],
  ['refund_failure', 'refund'],
  ['payment_failure_refund', 'refund'],
  ['payout', 'payout'],
  ['payout_cancel', 'payout'],
  ['payout_failure', 'payout'],
  ['application_fee', 'application_fee'],
  ['application_fee_refund', 'application_fee'],
]);

const counterparts: Record<MovementKind, LedgerAccount> = {
  charge: 'receivable',
  refund: 'receivable',
  dispute: 'disputes',
  payout: 'payouts',
  application_fee: 'application_fees',
  other: 'suspense',
};
