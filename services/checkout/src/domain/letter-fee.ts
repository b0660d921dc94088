import { type Cents, cents, sumCents } from '@eligo/values';
import { shareOfLine } from './capture-allocation.ts';
import type { LetterStatus } from './letter.ts';
import { feesOf } from './repricing.ts';
import type { LetterFeeStatus, Session, SessionLine } from './session.ts';
import { spreadEach } from './split.ts';

/** What was captured of a session's letter fee with the lines that it is a part of. */
export interface CapturedLetterFee {
  readonly capturedCents: Cents;
  /** Of that, what no refund of these lines has given back: in all, and of each line that has some of it. */
  readonly remainingCents: Cents;
  readonly remainingOfLines: readonly { readonly lineId: string; readonly amountCents: Cents }[];
  /** The card that paid it, null where nothing of these lines was captured. */
  readonly paymentIntentId: string | null;
}

/** What of the letter fee is a part of a line, where the fee is given back. */
export interface LetterFeeOfLine {
  /** Of the line as it was split. */
  readonly wholeCents: Cents;
  /** What is still to be refunded of it. */
  readonly pendingCents: Cents;
}

/** What the letter fee of a line depends on. */
export type LineWithFees = Pick<
  SessionLine,
  | 'id'
  | 'amountSubtotalCents'
  | 'amountDiscountCents'
  | 'amountFeeCents'
  | 'amountTotalCents'
  | 'amountCapturedCents'
  | 'amountRefundedCents'
  | 'letterFeeGivenBackCents'
  | 'letterFeeRefundedCents'
>;

type SessionWithFee = Pick<Session, 'fees' | 'letterFeeStatus' | 'letterFeeCents'>;

/** The fee's share of what was captured of each line, less its share of what was refunded of it. `lines` are all lines, in the cart's order. */
export function capturedLetterFee(session: SessionWithFee, lines: readonly SessionLine[]): CapturedLetterFee {
  const parts = letterFeeParts(session, lines);
  const remaining = parts.map(({ line, part }) => ({
    lineId: line.id,
    amountCents: cents(capturedOf(line, part) - shareOfLine(line, part, line.amountRefundedCents)),
  }));
  const payer = parts.find(({ line }) => line.amountCapturedCents > 0)?.line;
  return {
    capturedCents: sumCents(parts.map(({ line, part }) => capturedOf(line, part))),
    remainingCents: sumCents(remaining.map(({ amountCents }) => amountCents)),
    remainingOfLines: remaining.filter(({ amountCents }) => amountCents > 0),
    paymentIntentId: payer?.paymentIntentId ?? null,
  };
}

/**
 * The letter fee that is given back, by the line that it is a part of; none while the fee is kept. Its refund says that it is the fee, and is noted at these lines: until then all of it is to
 * be refunded, whatever else is. One of an earlier release notes nothing, and was spread over all lines of its card: where exactly the fee was refunded of a session, it counts as the fee.
 * `lines` are all lines, in the cart's order.
 */
export function letterFeesGivenBack(
  session: SessionWithFee & Pick<Session, 'amountRefundedCents'>,
  lines: readonly LineWithFees[],
): ReadonlyMap<string, LetterFeeOfLine> {
  if (session.letterFeeStatus !== 'refunded') return new Map();
  const parts = letterFeeParts(session, lines);
  const noted = parts.filter(({ line }) => line.letterFeeGivenBackCents > 0);
  if (noted.length > 0) {
    return new Map(
      noted.map(({ line: { id, letterFeeGivenBackCents, letterFeeRefundedCents }, part }) => {
        return [id, { wholeCents: part, pendingCents: cents(letterFeeGivenBackCents - letterFeeRefundedCents) }];
      }),
    );
  }
  const fees = parts.map(({ line, part }) => ({ line, wholeCents: part, capturedCents: capturedOf(line, part) }));
  if (session.amountRefundedCents !== sumCents(fees.map(({ capturedCents }) => capturedCents))) return new Map();
  return new Map(
    fees.map(({ line, wholeCents, capturedCents }) => {
      return [line.id, { wholeCents, pendingCents: cents(Math.max(0, capturedCents - line.amountRefundedCents)) }];
    }),
  );
}

function capturedOf(line: LineWithFees, part: Cents): Cents {
  return shareOfLine(line, part, line.amountCapturedCents);
}

// The fees of a line that are not the partner's. A denied letter changes the class of its lines, so the class does not tell them.
function letterFeeParts<Line extends LineWithFees>(
  session: SessionWithFee,
  lines: readonly Line[],
): { line: Line; part: Cents }[] {
  const partner = spreadEach(
    feesOf(session).partner.map(({ amountCents }) => amountCents),
    lines.map((line) => cents(line.amountSubtotalCents - line.amountDiscountCents)),
  );
  const parts = lines.map((line, i) => ({ line, part: cents(line.amountFeeCents - (partner[i] ?? 0)) }));
  return parts.filter(({ part }) => part > 0);
}

/**
 * The fee of a session that is complete, with the reviews that were its own. It is canceled where nothing of it was captured. Without an approved letter it is given
 * back, unless the shop has done so with its lines; a fee that is 0 is then waived.
 */
export function letterFeeOfPaid(
  { letterFeeStatus, letterFeeCents }: Pick<Session, 'letterFeeStatus' | 'letterFeeCents'>,
  reviews: readonly LetterStatus[],
  { capturedCents, remainingCents }: Pick<CapturedLetterFee, 'capturedCents' | 'remainingCents'>,
): LetterFeeStatus | null {
  if (letterFeeStatus !== 'pending') return letterFeeStatus;
  const isReviewed = reviews.some((status) => status !== 'denied');
  if (letterFeeCents === 0) return isReviewed ? 'paid' : 'waived';
  if (capturedCents === 0) return 'canceled';
  if (isReviewed) return 'paid';
  return remainingCents === 0 ? 'canceled' : 'refunded';
}

/** The fee of a session that ends without a payment: the void of its holds gives it back. */
export function letterFeeOfEnded({ letterFeeStatus }: Pick<Session, 'letterFeeStatus'>): LetterFeeStatus | null {
  return letterFeeStatus === 'pending' ? 'canceled' : letterFeeStatus;
}
