import { type Cents, cents } from '@eligo/values';
import { allocateLetterFee } from './allocate-letter-fee.ts';
import type { LetterFeeOfLine, LineWithFees } from './letter-fee.ts';
import {
  type Allocation,
  type AllocationRefusals,
  allocateOverLines,
  type Components,
  type Instruction,
  type LineEntry,
} from './line-allocation.ts';
import { allocateOverRecurring, type RecurringCost } from './recurring-lines.ts';

/** A line of a session as a refund sees it. `paymentIntentId` is null for a line that no card of ours paid. */
export interface RefundableLine {
  readonly id: string;
  /** The line that this is one card's part of. */
  readonly lineId?: string;
  readonly priceId: string;
  readonly productId: string;
  readonly paymentIntentId: string | null;
  readonly capturedCents: Cents;
  readonly refundedCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly discountCents: Cents;
  /** It costs nothing. */
  readonly isFree?: boolean;
  /** What the whole line costs, if it recurs. */
  readonly recurring?: RecurringCost | undefined;
  /** Of a session: the whole line, which two cards may have paid together. */
  readonly whole?: LineWithFees;
}

/** A card that paid: what it paid and what has been refunded to it. */
export interface RefundableCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly receivedCents: Cents;
  readonly refundedCents: Cents;
  /** What open and lost disputes hold of it. */
  readonly disputedCents?: Cents;
}

export type RefundComponents = Components;

export interface RefundableSession {
  readonly lines: readonly RefundableLine[];
  readonly cards: readonly RefundableCard[];
  /** The letter fee that is given back, by the line that it is a part of. */
  readonly letterFees?: ReadonlyMap<string, LetterFeeOfLine>;
  readonly captured: RefundComponents;
  readonly refunded: RefundComponents;
}

/** One entry of a request's `line_items`; an amount may be 0 or negative, and entries of one price add up (decisions 1.10). */
export type RefundEntry = LineEntry;

export interface RefundInstruction extends Instruction {
  /** An amount alone comes from what remains of the lines that recur, and from no others. */
  readonly recurringLinesOnly?: boolean;
  /** It is the letter fee: it comes from what is to be given back of that, and from nothing else. */
  readonly letterFee?: boolean;
}

export type RefundAllocation = Allocation;

const refusals: AllocationRefusals = {
  nothing: 'checkout_session_not_captured',
  exceeds: 'refund_amount_exceeds_remaining',
  invalid: 'refund_amount_invalid',
  nothingRemains: 'The session has no remaining balance to refund.',
};

/**
 * Takes a refund apart into lines and cards. Money goes back to the card that paid it, each line is filled to what was captured for it less
 * what was refunded, and no card refunds more than it paid less what disputes hold. Throws `checkout_session_not_captured`, `refund_amount_invalid` or
 * `refund_amount_exceeds_remaining`.
 */
export function allocateRefund(session: RefundableSession, instruction: RefundInstruction): RefundAllocation {
  return allocateBy(instruction)(
    {
      lines: session.lines.map(({ capturedCents, refundedCents, ...line }) => ({
        ...line,
        limitCents: capturedCents,
        takenCents: refundedCents,
      })),
      cards: session.cards.map(({ receivedCents, refundedCents, disputedCents, ...card }) => ({
        ...card,
        limitCents: receivedCents,
        takenCents: refundedCents,
        ...(disputedCents === undefined ? {} : { heldCents: disputedCents }),
      })),
      letterFees: session.letterFees ?? new Map(),
      limit: session.captured,
      taken: session.refunded,
      refusals,
      roundingCents: cents(isRounded(session) ? 1 : 0),
    },
    instruction,
  );
}

function allocateBy({ letterFee, recurringLinesOnly }: RefundInstruction) {
  if (letterFee === true) return allocateLetterFee;
  return recurringLinesOnly === true ? allocateOverRecurring : allocateOverLines;
}

// The client divides such a cart by its own rounding. Where one card pays for every line, it has nothing to divide.
function isRounded({ lines, cards }: RefundableSession): boolean {
  return cards.length > 1 || lines.some((line) => line.paymentIntentId === null || line.isFree === true);
}
