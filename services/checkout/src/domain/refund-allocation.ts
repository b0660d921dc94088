import type { Cents } from '@eligo/values';
import {
  type Allocation,
  type AllocationRefusals,
  allocateOverLines,
  type Components,
  type Instruction,
  type LineEntry,
} from './line-allocation.ts';

/** A line of a session as a refund sees it. `paymentIntentId` is null for a line that no card of ours paid. */
export interface RefundableLine {
  readonly id: string;
  readonly priceId: string;
  readonly productId: string;
  readonly paymentIntentId: string | null;
  readonly capturedCents: Cents;
  readonly refundedCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly discountCents: Cents;
}

/** A card that paid: what it paid and what has been refunded to it. */
export interface RefundableCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly receivedCents: Cents;
  readonly refundedCents: Cents;
}

export type RefundComponents = Components;

export interface RefundableSession {
  readonly lines: readonly RefundableLine[];
  readonly cards: readonly RefundableCard[];
  readonly captured: RefundComponents;
  readonly refunded: RefundComponents;
}

/** One entry of a request's `line_items`; an amount may be 0 or negative, and entries of one price add up (decisions 1.10). */
export type RefundEntry = LineEntry;
export type RefundInstruction = Instruction;
export type RefundAllocation = Allocation;

const refusals: AllocationRefusals = {
  nothing: 'checkout_session_not_captured',
  exceeds: 'refund_amount_exceeds_remaining',
  invalid: 'refund_amount_invalid',
  nothingRemains: 'The session has no remaining balance to refund.',
};

/**
 * Takes a refund apart into lines and cards. Money goes back to the card that paid it, each line is filled to what was captured for it less
 * what was refunded, and no card refunds more than it paid. Throws `checkout_session_not_captured`, `refund_amount_invalid` or
 * `refund_amount_exceeds_remaining`.
 */
export function allocateRefund(session: RefundableSession, instruction: RefundInstruction): RefundAllocation {
  return allocateOverLines(
    {
      lines: session.lines.map(({ capturedCents, refundedCents, ...line }) => ({
        ...line,
        limitCents: capturedCents,
        takenCents: refundedCents,
      })),
      cards: session.cards.map(({ receivedCents, refundedCents, ...card }) => ({
        ...card,
        limitCents: receivedCents,
        takenCents: refundedCents,
      })),
      limit: session.captured,
      taken: session.refunded,
      refusals,
    },
    instruction,
  );
}
