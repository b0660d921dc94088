import { type StateTable, stateTable } from '@eligo/values';
import type { Session } from './session.ts';

export type LetterStatus = 'in_review' | 'approved' | 'denied' | 'expired';

/** Its transitions (decisions 7): a review ends once. The trigger `guard_letter` enforces the same. */
export const letterStates: StateTable<LetterStatus> = stateTable<LetterStatus>({
  in_review: ['approved', 'denied', 'expired'],
  approved: [],
  denied: [],
  expired: [],
});

/** A letter of medical necessity for one product of a session. */
export interface Letter {
  readonly id: string;
  readonly status: LetterStatus;
  readonly sessionId: string;
  readonly productId: string;
  /** Null for a session without a customer: the letter then serves that session alone. */
  readonly customerId: string | null;
  readonly testClockId: string | null;
  /** Where the shopper answers the questions of the review. */
  readonly url: string | null;
  readonly reviewUntil: Date;
  /** Until when an approved letter serves the customer's next sessions. */
  readonly validUntil: Date | null;
  readonly createdAt: Date;
  readonly decidedAt: Date | null;
  /** Who decided it, as they were then. Null in test mode, where the shop decides, and while it is in review. */
  readonly reviewer: LetterReviewer | null;
}

export interface LetterReviewer {
  readonly name: string;
  readonly license: string;
  readonly state: string;
}

/** An approved letter of a customer, and the time until which it is valid. */
export interface ValidLetter {
  readonly id: string;
  readonly validUntil: Date;
}

const dayMs = 86_400_000;

/** How long before a hold lapses its review ends: for a capture that has to be repeated through an outage. It is what four days leave of four days and 18 hours. */
export const captureReserveMs: number = 18 * 3_600_000;

/** When a review ends that can be decided for longer than a card is held, because each card is authorized again: 30 days are enough for every reviewer. */
export function longReviewEnd(at: Date): Date {
  return new Date(at.getTime() + 30 * dayMs);
}

/** When a review ends at the latest, at `at` on its clock, with a hold that lasts for `heldForMs` more and is not renewed. */
export function reviewEndWithHold(at: Date, heldForMs: number): Date {
  return new Date(at.getTime() + Math.max(heldForMs - captureReserveMs, 0));
}

/**
 * When a review that began at `at` ends by itself. A card's hold lapses after 7 days, one of a payment without the shopper after 4 days and 18 hours; the
 * rest is for a capture that has to be repeated through an outage. A hold that the processor keeps for a shorter time, `heldForMs` from now, ends the review earlier.
 */
export function reviewEnd(at: Date, hasOffSessionHold: boolean, heldForMs = Number.POSITIVE_INFINITY): Date {
  const longestMs = (hasOffSessionHold ? 4 : 6) * dayMs;
  return new Date(at.getTime() + Math.max(Math.min(longestMs, heldForMs - captureReserveMs), 0));
}

/** An approved letter is valid for twelve months (decisions 7); one of February 29 until February 28. */
export function validityEnd(approvedAt: Date): Date {
  const end = new Date(approvedAt);
  end.setUTCFullYear(end.getUTCFullYear() + 1);
  if (end.getUTCMonth() !== approvedAt.getUTCMonth()) end.setUTCDate(0);
  return end;
}

/** When a shop is told that a letter ends: long enough before for a new review. */
export function announcementOf(validUntil: Date): Date {
  return new Date(validUntil.getTime() - 30 * dayMs);
}

/** Where the shopper of a session answers the questions of its letters: on the session's page. */
export function letterUrlOf(session: Session): string | undefined {
  return session.details.redirectUrl;
}

/** Whether the holds of a session wait for its letters. */
export function awaitsLetters(session: Session): boolean {
  return session.status === 'paid' && session.nextAction?.type === 'collect_letter_of_medical_necessity';
}
