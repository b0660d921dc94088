import { type Cents, cents, partOf, sumCents } from '@eligo/values';

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
  return partOf(amountCents, paidCents - takenBackCents, paidCents);
}

/** A line of the session that sold a subscription. */
export interface PaidLine {
  readonly recurs: boolean;
  readonly totalCents: Cents;
  /** What of that are fees of the session: these do not recur. */
  readonly feeCents: Cents;
  /** What of the fees is a letter fee that is given back, and what of that is still to be refunded. */
  readonly letterFeeCents: Cents;
  readonly letterFeeToRefundCents: Cents;
  /** What was captured of it; undefined if checkout does not say it. */
  readonly capturedCents: Cents | undefined;
  readonly refundedCents: Cents;
  /** What open and lost disputes of its cards hold of it; undefined if checkout does not say it. */
  readonly disputedCents: Cents | undefined;
}

/** What was received with it, and what of that is not refunded, and is held by disputes. */
interface SessionAmounts {
  readonly receivedCents: Cents;
  readonly leftCents: Cents;
  readonly disputedCents: Cents;
}

/**
 * What was paid with a session for the time of the lines that recur, and what was taken back of that: of each by itself. A refund and a capture know their lines. A dispute does not:
 * checkout says what it holds of each line of its card. Fees are for no time.
 */
export function sharesOfRecurring(lines: readonly PaidLine[], session: SessionAmounts): KeptShare {
  const wholeCents = sumCents(lines.map(({ totalCents }) => totalCents));
  const shares = lines.filter(({ recurs }) => recurs).map((line) => shareOfLine(line, wholeCents, session));
  return {
    paidCents: sumCents(shares.map(({ paidCents }) => paidCents)),
    takenBackCents: sumCents(shares.map(({ takenBackCents }) => takenBackCents)),
  };
}

function shareOfLine(line: PaidLine, wholeCents: Cents, session: SessionAmounts): KeptShare {
  const { totalCents, feeCents, letterFeeCents, letterFeeToRefundCents, refundedCents } = line;
  const capturedCents = line.capturedCents ?? shareOfCapture(totalCents, wholeCents, session);
  const restCents = cents(Math.max(0, capturedCents - refundedCents));
  const timeCents = totalCents - feeCents;
  const paidCents = partOf(capturedCents, timeCents, totalCents);
  // A letter fee that is given back has a refund of its own, so it is no part of what remains.
  const besideCents = cents(Math.max(0, restCents - letterFeeToRefundCents));
  const leftCents = cents(Math.min(paidCents, partOf(besideCents, timeCents, totalCents - letterFeeCents)));
  const freeCents = restCents - heldOf(line, restCents, session);
  // As it is once the fee is refunded, out of what disputes leave.
  const mostCents = Math.max(0, freeCents - letterFeeToRefundCents);
  const keptCents = Math.min(partOf(leftCents, freeCents, restCents), mostCents);
  return { paidCents, takenBackCents: cents(paidCents - keptCents) };
}

// A checkout of the release before says what was received with the session alone: then a capture of a part is of each line in proportion.
function shareOfCapture(totalCents: Cents, wholeCents: Cents, { receivedCents }: SessionAmounts): Cents {
  return receivedCents < wholeCents ? partOf(totalCents, receivedCents, wholeCents) : totalCents;
}

// A checkout of the release before says what is held of the whole session alone: then it is of each line in proportion.
function heldOf(
  { disputedCents: ofLine }: PaidLine,
  restCents: Cents,
  { leftCents, disputedCents }: SessionAmounts,
): Cents {
  if (leftCents === 0) return restCents;
  const ofAll = ofLine ?? cents(restCents - partOf(restCents, Math.max(0, leftCents - disputedCents), leftCents));
  return cents(Math.min(restCents, ofAll));
}
