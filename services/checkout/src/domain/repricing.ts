import { Failure } from '@eligo/failures';
import { type Cents, cents, type Discounting } from '@eligo/values';
import { amountsOf, neverChargedLine } from './new-session.ts';
import type { Session, SessionDiscount, SessionFee, SessionLine } from './session.ts';
import { type Split, splitCart } from './split.ts';
import { isTrialOver } from './trial-cards.ts';

/** A session's discount with what the split needs of its coupon. */
export interface AppliedDiscount {
  readonly discount: SessionDiscount;
  readonly discounting: Discounting;
}

/** A session with other discounts: its amounts, its lines and what each discount takes off. */
export interface Repriced {
  readonly session: Session;
  readonly lines: readonly SessionLine[];
}

/**
 * Splits a session anew with these discounts, by the same arithmetic as at its creation. Prices, classes, shipping, tax and fees stay as they were given. A code
 * that would change whether the session needs a letter is refused, because the letter and its fee were announced to the shopper, and one that would leave a line
 * that no charge pays.
 */
export function repriceSession(
  session: Session,
  lines: readonly SessionLine[],
  applied: readonly AppliedDiscount[],
  productsWithLetter: ReadonlySet<string>,
  at: Date,
): Repriced {
  const { partner, letterFeeCents } = feesOf(session);
  const split = splitCart({
    lines,
    discounts: applied.map(({ discounting }) => discounting),
    shippingCents: session.amountShippingCents,
    taxCents: session.amountTaxCents,
    feeCents: partner.map((fee) => fee.amountCents),
    productsWithLetter,
    letterFeeCents,
  });
  if (split.letterRequired !== session.letterRequired) throw new Failure('coupon_not_applicable');
  const discounts = applied.map(({ discount }, i) => ({
    ...discount,
    amountCents: split.discountCents[i] ?? cents(0),
  }));
  const enteredDiscountId = enteredDiscount(discounts)?.id ?? null;
  const repriced = { ...session, ...amountsOf(split), discounts, enteredDiscountId, nextAction: null };
  const newLines = lines.map((line, i) => repricedLine(line, split.lines[i]));
  if (neverChargedLine(repriced, newLines, at) !== undefined) throw new Failure('coupon_not_applicable');
  return { session: repriced, lines: newLines };
}

/**
 * Names what a session charges at `at`: it is what it was as long as the version is. A trial that is over makes another one, because its first period is then due
 * at once. Null for a session without lines.
 */
export function splitVersionOf(
  session: Pick<Session, 'splitCartId' | 'enteredDiscountId' | 'mode' | 'details'>,
  at: Date,
): string | null {
  const { splitCartId, enteredDiscountId } = session;
  if (splitCartId === null) return null;
  const parts = [splitCartId, enteredDiscountId, isTrialOver(session, at) ? 'trial_over' : null];
  return parts.filter((part) => part !== null).join('.');
}

/** The discount that the shopper entered; a session has one at most. */
export function enteredDiscount(discounts: readonly SessionDiscount[]): SessionDiscount | undefined {
  return discounts.find(({ enteredCode }) => enteredCode !== null);
}

/** Whether the shopper of a session enters codes at all. */
export function takesPromoCodes({ mode, details }: Pick<Session, 'mode' | 'details'>): boolean {
  return details.allowPromotionCodes === true && (mode === 'payment' || mode === 'subscription');
}

/** The fees of a session that the partner gave, and the fee for its letters, which is the last one where there is one. */
export function feesOf(session: Pick<Session, 'fees' | 'letterFeeStatus' | 'letterFeeCents'>): {
  partner: readonly SessionFee[];
  letterFeeCents: Cents;
} {
  const { fees, letterFeeStatus } = session;
  const letterFeeCents = session.letterFeeCents ?? cents(0);
  if (letterFeeStatus === null || (letterFeeStatus === 'pending' && letterFeeCents === 0)) {
    return { partner: fees, letterFeeCents };
  }
  return { partner: fees.slice(0, -1), letterFeeCents };
}

function repricedLine(line: SessionLine, part: Split['lines'][number] | undefined): SessionLine {
  if (part === undefined) throw new RangeError(`No split for line ${line.position}`);
  return {
    ...line,
    amountDiscountCents: part.discountCents,
    amountTaxCents: part.taxCents,
    amountShippingCents: part.shippingCents,
    amountFeeCents: part.feeCents,
    amountTotalCents: part.totalCents,
    amountEligibleCents: part.eligibleCents,
  };
}
