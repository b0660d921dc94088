import type { Leg } from './charge-attempt.ts';
import { captureReserveMs } from './letter.ts';
import { isConfirmationToken } from './payment-method.ts';

/** How often a card is authorized again for one session. A review of 30 days needs nine at most; a test clock that stands still makes a review endless. */
export const mostRenewals = 12;

/** When a card is authorized again whose hold lapses at `captureBefore`: a day of an outage is survived, and a decline leaves 18 hours for a decision. */
export function renewalTimeOf(captureBefore: Date): Date {
  return new Date(captureBefore.getTime() - leadMs);
}

/** Whether a hold lasts long enough from `now` to be worth a renewal; a shorter one ends the review. */
export function isRenewableFor(captureBefore: Date, now: Date): boolean {
  return captureBefore.getTime() - now.getTime() >= 2 * leadMs;
}

/** Whether a review that lasts for `reviewLeftMs` may be decided too late for a hold that lasts for `heldForMs`. */
export function outlivesHold(reviewLeftMs: number, heldForMs: number): boolean {
  return reviewLeftMs > heldForMs - captureReserveMs;
}

/** Whether a card may be authorized without its owner, who agreed to it for this payment (`keepsCard`) or for any, for what it holds on `leg`. A card pays nothing ineligible once it was said to be a health card. */
export function canHoldAgain(
  card: {
    readonly offSession: boolean;
    readonly hsaFsa: boolean | null;
    readonly processorPaymentMethodId: string;
  },
  leg: Leg,
  keepsCard: boolean,
): boolean {
  if (!(card.offSession || keepsCard) || isConfirmationToken(card.processorPaymentMethodId)) return false;
  return leg === 'health' || card.hsaFsa === false;
}

const leadMs = 36 * 3_600_000;
