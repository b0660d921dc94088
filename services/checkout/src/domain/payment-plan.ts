import { Failure } from '@eligo/failures';
import { type Cents, cents, minimumChargeCents } from '@eligo/values';
import type { CardKind } from './card-kind.ts';
import type { AttemptStatus } from './charge-attempt.ts';

/** Why a plan is released before each of its cards was charged; the codes are those of the refusals. */
export type ReleaseCause =
  | 'other_payment_method_required'
  | 'payment_method_not_found'
  | 'checkout_session_payment_tries_exceeded'
  | 'customer_not_found';

/** A card that a shopper gave. */
export interface ShopperCard {
  readonly paymentMethodId: string;
  readonly kind: CardKind;
}

/** A plan that waited for its second card, with that card: it runs again, for the request that gave the card. */
export function withOtherCard<Plan extends object>(plan: Plan, otherPaymentMethodId: string, actingAt: Date) {
  return { ...plan, state: 'running', otherPaymentMethodId, releaseAt: null, isLate: false, actingAt } as const;
}

/** What the cards given are to pay. */
export type PlannedPayment =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'pay';
      readonly healthCents: Cents;
      readonly health: ShopperCard | undefined;
      readonly otherCents: Cents;
      readonly other: ShopperCard | undefined;
      /** Authorize only: a letter is still to be approved, or the shop captures by itself. */
      readonly holdsOnly: boolean;
    }
  /** The eligible part is held on the health card until a second card is given. */
  | {
      readonly kind: 'second_card_needed';
      readonly healthCents: Cents;
      readonly health: ShopperCard;
      readonly otherCents: Cents;
      /** As above, for both cards: the second one may come long after. */
      readonly holdsOnly: boolean;
    }
  /** No card was given that may pay any of this: only health cards, or cards of which that is not known. */
  | { readonly kind: 'other_card_needed' };

/**
 * Divides a session between the cards given on the page (decisions 6.3): an eligible part under 50 cents goes wholly on the other
 * card, a remainder under 50 cents puts the whole session on the other card. Only a card that is known to be no health card is charged for
 * anything ineligible, or for a letter's line without the letter; one of which it is not known is treated as a health card. Throws
 * `checkout_amount_too_low` for a total that no card can be charged.
 */
export function planPayment(
  session: {
    readonly totalCents: Cents;
    readonly eligibleCents: Cents;
    readonly letterRequired: boolean;
    readonly manualCapture: boolean;
    /** Whether the account may charge health cards; without it the other card pays everything. */
    readonly healthAccepted: boolean;
  },
  cards: readonly ShopperCard[],
): PlannedPayment {
  const { totalCents } = session;
  if (totalCents === 0) return { kind: 'nothing' };
  refuseTooSmall(totalCents);
  const given = cards.find(({ kind }) => kind === 'health') ?? cards.find(({ kind }) => kind === 'unknown');
  const health = session.healthAccepted ? given : undefined;
  const other = cards.find(({ kind }) => kind === 'other');
  const healthCents = healthPart(totalCents, session.eligibleCents);
  const otherCents = cents(totalCents - healthCents);
  const holdsOnly = session.letterRequired || session.manualCapture;
  if (health === undefined || healthCents === 0) {
    if (other === undefined) return { kind: 'other_card_needed' };
    return {
      kind: 'pay',
      healthCents: cents(0),
      health: undefined,
      otherCents: totalCents,
      other,
      holdsOnly: session.manualCapture,
    };
  }
  if (otherCents === 0) return { kind: 'pay', healthCents, health, otherCents, other: undefined, holdsOnly };
  if (other === undefined) return { kind: 'second_card_needed', healthCents, health, otherCents, holdsOnly };
  return { kind: 'pay', healthCents, health, otherCents, other, holdsOnly };
}

/** Throws `other_payment_method_required` where a second card was given and none may pay the rest: it is, or may be, a health card as well. */
export function refuseSecondHealthCard({ kind }: { readonly kind: string }, cards: readonly ShopperCard[]): void {
  const ids = new Set(cards.map(({ paymentMethodId }) => paymentMethodId));
  if (kind === 'second_card_needed' && ids.size > 1) throw new Failure('other_payment_method_required');
}

/** Throws `checkout_amount_too_low` for a total that no card can be charged. Nothing is charged for 0. */
export function refuseTooSmall(totalCents: Cents): void {
  if (totalCents > 0 && totalCents < minimumChargeCents) throw new Failure('checkout_amount_too_low');
}

/** What may go on a health card, or 0 where one of the two parts is too small to be charged by itself. */
export function healthPart(totalCents: Cents, eligibleCents: Cents): Cents {
  const restCents = totalCents - eligibleCents;
  if (eligibleCents < minimumChargeCents) return cents(0);
  if (restCents > 0 && restCents < minimumChargeCents) return cents(0);
  return eligibleCents;
}

/** How far a plan's parts have come. Undefined: not begun. */
export interface PlanProgress {
  readonly healthCents: Cents;
  readonly otherCents: Cents;
  readonly otherCardKnown: boolean;
  readonly holdsOnly: boolean;
  /** The health card was approved for a part: both cards are held first, and captured by one capture. */
  readonly isInPart: boolean;
  readonly releasing: boolean;
  /** No card may be charged any more: unsent attempts are abandoned, and holds are voided. */
  readonly timeOver: boolean;
  readonly health: AttemptStatus | undefined;
  /** Only a hold remains to be captured or voided. */
  readonly healthHeld: boolean;
  readonly healthCapture: 'pending' | 'done' | undefined;
  readonly healthRelease: 'pending' | 'done' | undefined;
  readonly other: AttemptStatus | undefined;
  readonly otherHeld: boolean;
  readonly otherCapture: 'pending' | 'done' | undefined;
  readonly otherRelease: 'pending' | 'done' | undefined;
}

export type PlanStep =
  | 'authorize_health'
  | 'pay_other'
  | 'capture_health'
  | 'capture_both'
  | 'give_up_unsent'
  | 'release_health'
  | 'release_other'
  | 'wait_for_processor'
  | 'await_second_card'
  | 'await_capture'
  | 'complete'
  | 'refund'
  | 'fail';

/** The steps that ask the processor for something. */
export function needsProcessor(step: PlanStep): boolean {
  return [
    'authorize_health',
    'pay_other',
    'capture_health',
    'capture_both',
    'release_health',
    'release_other',
  ].includes(step);
}

/**
 * What to do next for a session on two cards: authorize the health card, charge the other one, capture the hold; if the second fails, void
 * the hold (decisions 6.2); if the hold is gone when the second has paid, refund that. An attempt that was begun
 * and not sent is resumed until the time to confirm is over. It depends only on the stored rows, so that any process can continue after a crash.
 */
export function nextStep(plan: PlanProgress): PlanStep {
  // Not voided by Eligo: the hold expired, or was canceled at the processor.
  if (plan.releasing || plan.health === 'released') return releaseStep(plan);
  if (plan.healthCents > 0) {
    if (isToBegin(plan.health)) return plan.timeOver ? releaseStep(plan) : 'authorize_health';
    if (isSent(plan.health)) return 'wait_for_processor';
    if (plan.health !== 'succeeded') return 'fail';
  }
  if (plan.otherCents > 0) {
    if (!plan.otherCardKnown) return 'await_second_card';
    if (isToBegin(plan.other)) return plan.timeOver ? releaseStep(plan) : 'pay_other';
    if (isSent(plan.other)) return 'wait_for_processor';
    if (plan.other !== 'succeeded') return releaseStep(plan);
  }
  if (plan.holdsOnly) return 'await_capture';
  if (plan.isInPart) {
    if (plan.healthCapture === 'pending' || plan.otherCapture === 'pending') return 'wait_for_processor';
    return plan.healthCapture === 'done' && plan.otherCapture === 'done' ? 'complete' : 'capture_both';
  }
  if (plan.healthHeld && plan.healthCapture !== 'done') {
    return plan.healthCapture === 'pending' ? 'wait_for_processor' : 'capture_health';
  }
  return 'complete';
}

function releaseStep(plan: PlanProgress): PlanStep {
  if (plan.health === 'created' || plan.other === 'created') return 'give_up_unsent';
  if (isSent(plan.health) || isSent(plan.other)) return 'wait_for_processor';
  // The other card's capture waits for it.
  if (plan.isInPart && plan.healthCapture === 'pending') return 'wait_for_processor';
  const health = standing(plan.health, plan.healthHeld, plan.healthCapture, plan.healthRelease);
  const other = standing(plan.other, plan.otherHeld, plan.otherCapture, plan.otherRelease);
  if (health === 'held') return 'release_health';
  if (other === 'held') return 'release_other';
  if (health === 'ending' || other === 'ending') return 'wait_for_processor';
  return health === 'paid' || other === 'paid' ? 'refund' : 'fail';
}

// What there is of one card's money.
function standing(
  status: AttemptStatus | undefined,
  held: boolean,
  capture: 'pending' | 'done' | undefined,
  release: 'pending' | 'done' | undefined,
): 'none' | 'held' | 'ending' | 'paid' {
  if (status !== 'succeeded') return 'none';
  if (!held || capture === 'done') return 'paid';
  return capture === 'pending' || release !== undefined ? 'ending' : 'held';
}

function isToBegin(status: AttemptStatus | undefined): boolean {
  return status === undefined || status === 'created' || status === 'abandoned';
}

function isSent(status: AttemptStatus | undefined): boolean {
  return status === 'sending' || status === 'unknown';
}
