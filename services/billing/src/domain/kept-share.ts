import { type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';

/** What was paid for the present period of a subscription, and what of that was refunded, or is held by open and lost disputes. */
export interface KeptShare {
  readonly paidCents: Cents;
  readonly takenBackCents: Cents;
}

/** Of a change that credits nothing, nothing needs to be known. */
export const nothingTakenBack: KeptShare = { paidCents: cents(0), takenBackCents: cents(0) };

/** Of a period of which it is not known what was kept, nothing is credited. */
export const nothingKept: KeptShare = { paidCents: cents(1), takenBackCents: cents(1) };

/**
 * What the shop has kept of an amount that was paid within a period: its part of what was neither refunded nor disputed, rounded down. Unused time is credited of that
 * alone, so that refunds, lost disputes and credits together never exceed what was paid.
 */
export function keptOf(amountCents: Cents, { paidCents, takenBackCents }: KeptShare): Cents {
  if (takenBackCents === 0) return amountCents;
  if (takenBackCents >= paidCents) return cents(0);
  return centsFromInt64((BigInt(amountCents) * BigInt(paidCents - takenBackCents)) / BigInt(paidCents));
}

/** A line of the session that sold a subscription. */
interface PaidLine {
  readonly recurs: boolean;
  readonly totalCents: Cents;
  /** What of that are fees of the session: these do not recur. */
  readonly feeCents: Cents;
  readonly refundedCents: Cents;
}

/** What was received with it, and what of that is not refunded, and is held by disputes. */
interface SessionAmounts {
  readonly receivedCents: Cents;
  readonly leftCents: Cents;
  readonly disputedCents: Cents;
}

/** What was paid with a session for the lines that recur, and what of that the shop has kept for their time. */
export interface ShareOfSession extends KeptShare {
  readonly ofTimeCents: Cents;
}

/**
 * What was paid with a session for the lines that recur, and what was taken back of these. A refund knows its lines. A dispute does not: it holds of each line in
 * proportion to what is not refunded of it, rounded up. Nor does a capture of a part: each line has its share of it. Fees are for no time.
 */
export function sharesOfRecurring(
  lines: readonly PaidLine[],
  { receivedCents, leftCents, disputedCents }: SessionAmounts,
): ShareOfSession {
  const totalOf = (some: readonly PaidLine[]) => sumCents(some.map(({ totalCents }) => totalCents));
  const recurring = lines.filter(({ recurs }) => recurs);
  const wholeCents = totalOf(lines);
  const recurringCents = totalOf(recurring);
  const isPart = receivedCents < wholeCents;
  const paidCents = isPart
    ? centsFromInt64((BigInt(recurringCents) * BigInt(receivedCents)) / BigInt(wholeCents))
    : recurringCents;
  const refundedCents = sumCents(recurring.map((line) => line.refundedCents));
  const left = BigInt(Math.max(0, paidCents - refundedCents));
  const disputed = leftCents === 0 ? left : (BigInt(disputedCents) * left + BigInt(leftCents) - 1n) / BigInt(leftCents);
  const heldCents = centsFromInt64(disputed > left ? left : disputed);
  const keptCents = left - BigInt(heldCents);
  const timeCents = BigInt(recurringCents - sumCents(recurring.map(({ feeCents }) => feeCents)));
  return {
    paidCents,
    takenBackCents: cents(refundedCents + heldCents),
    ofTimeCents: recurringCents === 0 ? cents(0) : centsFromInt64((keptCents * timeCents) / BigInt(recurringCents)),
  };
}
