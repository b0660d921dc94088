import { type Cents, cents, centsFromInt64 } from '@eligo/values';

/** What was paid for the present period of a subscription, and what of that was refunded, or is held by open and lost disputes. */
export interface KeptShare {
  readonly paidCents: Cents;
  readonly takenBackCents: Cents;
}

/** Of a change that credits nothing, nothing needs to be known. */
export const nothingTakenBack: KeptShare = { paidCents: cents(0), takenBackCents: cents(0) };

/**
 * What the shop has kept of an amount that was paid within a period: its part of what was neither refunded nor disputed, rounded down. Unused time is credited of that
 * alone, so that refunds, lost disputes and credits together never exceed what was paid.
 */
export function keptOf(amountCents: Cents, { paidCents, takenBackCents }: KeptShare): Cents {
  if (takenBackCents === 0) return amountCents;
  if (takenBackCents >= paidCents) return cents(0);
  return centsFromInt64((BigInt(amountCents) * BigInt(paidCents - takenBackCents)) / BigInt(paidCents));
}
