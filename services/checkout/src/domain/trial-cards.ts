import { type Cents, cents, minimumChargeCents, sumCents } from '@eligo/values';
import { needsLetter } from './eligibility.ts';
import { firstPeriodOf, firstRenewal } from './first-renewal.ts';
import { healthPart, planPayment, type ShopperCard } from './payment-plan.ts';
import type { Session, SessionLine } from './session.ts';

/** What the first renewal after a trial comes to, and what of it a health card may pay. */
export interface TrialRenewal {
  readonly totalCents: Cents;
  readonly eligibleCents: Cents;
}

/** The cards that a trial begins with. */
export type TrialCards =
  | { readonly kind: 'keep'; readonly standard: ShopperCard | undefined; readonly backup: ShopperCard | undefined }
  /** The health card alone cannot pay the renewal. */
  | {
      readonly kind: 'second_card_needed';
      readonly standard: ShopperCard;
      readonly healthCents: Cents;
      readonly otherCents: Cents;
    }
  /** No card was given that may pay any of the renewal. */
  | { readonly kind: 'other_card_needed' };

/**
 * The first renewal of a subscription that begins with a trial at `at`, by the cart that was agreed; undefined where no trial begins. Nothing is due where it
 * ends before. Fees are of the session alone. A trial opens no letters, so that a line which needs one counts as ineligible.
 */
export function trialRenewalOf(session: Session, lines: readonly SessionLine[], at: Date): TrialRenewal | undefined {
  if (session.mode !== 'subscription') return undefined;
  const period = firstPeriodOf(session, lines, at);
  if (period === undefined || period.trialEnd === null) return undefined;
  if (firstRenewal(session, lines, at) === null) return { totalCents: cents(0), eligibleCents: cents(0) };
  const isEligible = (line: SessionLine) =>
    line.amountEligibleCents > 0 && !(session.letterRequired && needsLetter(line.eligibilityClass));
  return { totalCents: withoutFees(lines), eligibleCents: withoutFees(lines.filter(isEligible)) };
}

/** Whether the trial that a session would have begun with is over by `at`: its first period is then due at once. */
export function isTrialOver({ mode, details }: Pick<Session, 'mode' | 'details'>, at: Date): boolean {
  const { trialEndMs } = details.subscriptionData ?? {};
  return mode === 'subscription' && trialEndMs !== undefined && trialEndMs <= at.getTime();
}

/** What of that renewal goes on a health card. */
export function renewalHealthPart({ totalCents, eligibleCents }: TrialRenewal): Cents {
  return totalCents < minimumChargeCents ? cents(0) : healthPart(totalCents, eligibleCents);
}

/**
 * Chooses the cards that the renewal is charged to, as a payment now would choose them (`planPayment`). A trial without any card begins; how it then ends
 * is the shop's `missing_payment_method`. What no card can be charged needs no second card.
 */
export function planTrialCards(
  renewal: TrialRenewal,
  healthAccepted: boolean,
  cards: readonly ShopperCard[],
): TrialCards {
  if (cards.length === 0 || renewal.totalCents < minimumChargeCents) {
    return { kind: 'keep', standard: cards[0], backup: undefined };
  }
  const planned = planPayment({ ...renewal, letterRequired: false, manualCapture: false, healthAccepted }, cards);
  switch (planned.kind) {
    case 'pay': {
      const { health, other } = planned;
      return { kind: 'keep', standard: health ?? other, backup: health && other };
    }
    case 'second_card_needed': {
      const { health, healthCents, otherCents } = planned;
      return { kind: 'second_card_needed', standard: health, healthCents, otherCents };
    }
    case 'other_card_needed':
      return planned;
    case 'nothing':
      return { kind: 'keep', standard: cards[0], backup: undefined };
  }
}

function withoutFees(lines: readonly SessionLine[]): Cents {
  return sumCents(lines.map((line) => cents(line.amountTotalCents - line.amountFeeCents)));
}
