import { type Cents, cents } from '@eligo/values';
import { shareOfLine } from './capture-allocation.ts';
import type { LetterStatus } from './letter.ts';
import { feesOf } from './repricing.ts';
import type { LetterFeeStatus, Session, SessionLine } from './session.ts';
import { spreadEach } from './split.ts';

/** What was captured of a session's letter fee with the lines that it is a part of. */
export interface CapturedLetterFee {
  readonly capturedCents: Cents;
  /** Of that, what no refund of these lines has given back. */
  readonly remainingCents: Cents;
  /** The card that paid it, null where nothing of these lines was captured. */
  readonly paymentIntentId: string | null;
}

type SessionWithFee = Pick<Session, 'fees' | 'letterFeeStatus' | 'letterFeeCents'>;

/** The fee's share of what was captured of each line, less its share of what was refunded of it. `lines` are all lines, in the cart's order. */
export function capturedLetterFee(session: SessionWithFee, lines: readonly SessionLine[]): CapturedLetterFee {
  const parts = letterFeeParts(session, lines);
  const shareOf = (amountOf: (line: SessionLine) => Cents) =>
    parts.reduce((sum, { line, part }) => sum + shareOfLine(line, part, amountOf(line)), 0);
  const captured = shareOf((line) => line.amountCapturedCents);
  const payer = parts.find(({ line }) => line.amountCapturedCents > 0)?.line;
  return {
    capturedCents: cents(captured),
    remainingCents: cents(captured - shareOf((line) => line.amountRefundedCents)),
    paymentIntentId: payer?.paymentIntentId ?? null,
  };
}

// The fees of a line that are not the partner's. A denied letter changes the class of its lines, so the class does not tell them.
function letterFeeParts(session: SessionWithFee, lines: readonly SessionLine[]): { line: SessionLine; part: Cents }[] {
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
