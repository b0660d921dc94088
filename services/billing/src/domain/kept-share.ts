import { type Cents, cents, centsFromInt64 } from '@eligo/values';

/** What was paid for the present period of a subscription, and what of that was refunded. */
export interface KeptShare {
  readonly paidCents: Cents;
  readonly refundedCents: Cents;
}

/** Of a change that credits nothing, nothing needs to be known. */
export const nothingRefunded: KeptShare = { paidCents: cents(0), refundedCents: cents(0) };

/**
 * What the shop has kept of an amount that was paid within a period: its part of what was not refunded, rounded down. Unused time is credited of that alone, so
 * that refunds and credits together never exceed what was paid.
 */
export function keptOf(amountCents: Cents, { paidCents, refundedCents }: KeptShare): Cents {
  if (refundedCents === 0) return amountCents;
  if (refundedCents >= paidCents) return cents(0);
  return centsFromInt64((BigInt(amountCents) * BigInt(paidCents - refundedCents)) / BigInt(paidCents));
}
