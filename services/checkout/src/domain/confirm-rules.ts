import { Failure } from '@eligo/failures';
import type { ChargeAttempt } from './charge-attempt.ts';
import type { Session } from './session.ts';
import { refusalByDeclines } from './session-declines.ts';

/** Whether health cards may be charged for a caller's account: in test mode always, in live mode once the operator has said how it substantiates. */
export function acceptsHealthCards(caller: { readonly testMode: boolean; readonly substantiation: string }): boolean {
  return caller.testMode || caller.substantiation !== '';
}

/** Whether pages say that no health card is taken. An issuer that does not know leaves it open: the payment then decides. */
export function hidesHealthCards(caller: {
  readonly testMode: boolean;
  readonly substantiation: string;
  readonly knowsSubstantiation: boolean;
}): boolean {
  return caller.knowsSubstantiation && !acceptsHealthCards(caller);
}

/** What a confirm is decided on. */
export interface ConfirmSituation {
  readonly session: Session | undefined;
  readonly facts: {
    readonly eligibilityRecord: { readonly foodPolicy: boolean } | undefined;
    readonly paymentMethod: { readonly customerId: string | null; readonly offSession: boolean } | undefined;
    readonly customer: { readonly id: string; readonly deleted: boolean } | undefined;
  };
  readonly live: readonly ChargeAttempt[];
  /** The acting customer's time. */
  readonly at: Date;
  readonly features: readonly string[];
  /** A card holds its part of the whole session, and the confirm names the one that pays the rest. */
  readonly paysRest?: boolean;
  /** A card held its part of the whole session, and no card holds anything any more. */
  readonly wasReleased?: boolean;
}

/** A card held its part of the whole session, and the hold is released. Final: a confirm would charge a part of the session, and complete it. */
export function holdReleased(): Failure {
  return new Failure('conflict', {
    detail:
      'The hold that this session placed when it was created has been released, and nothing was charged. Create a new session.',
  });
}

/**
 * The refusal that a confirm is answered with, in the order of decisions 7, or undefined when it may charge. All of these are final: they are
 * stored under the key.
 */
export function refusalToConfirm(situation: ConfirmSituation): Failure | undefined {
  const { session, facts } = situation;
  if (session === undefined) return new Failure('checkout_session_not_found');
  const ended = refusalByStatus(session, situation.at);
  if (ended !== undefined) return ended;
  const declined = refusalByDeclines(session, 'request');
  if (declined !== undefined) return declined;
  // It charges at once, which is not what was agreed when the session was made. The card for the rest of a whole session is only held, as the first one is.
  const { paysRest = false, wasReleased = false } = situation;
  if (session.captureMethod === 'manual' && !paysRest && !wasReleased)
    return new Failure('manual_capture_not_supported');
  const served = session.mode === 'payment' || session.mode === 'off_session';
  if (!served || facts.eligibilityRecord === undefined) return new Failure('eligibility_record_not_found');
  if (facts.eligibilityRecord.foodPolicy && !situation.features.includes('food_eligibility')) {
    return new Failure('food_eligibility_not_enabled');
  }
  if (situation.live.some((attempt) => attempt.leg === 'health' && attempt.status === 'succeeded')) {
    return new Failure('eligibility_record_already_charged');
  }
  if (wasReleased) return holdReleased();
  if (!isUsable(facts.paymentMethod, session)) return new Failure('payment_method_not_found');
  if (facts.customer?.deleted === true) return new Failure('customer_not_found');
  return facts.paymentMethod?.offSession === true ? undefined : new Failure('payment_method_not_off_session');
}

/** Why a session takes no payment any more, or undefined while it does. */
export function refusalByStatus(session: Session, at: Date): Failure | undefined {
  switch (session.status) {
    case 'paid':
    case 'complete':
      return new Failure('checkout_session_already_processed');
    case 'canceled':
      return new Failure('checkout_session_canceled');
    case 'expired':
      return new Failure('checkout_session_expired');
    case 'open':
      return session.expiresAt <= at ? new Failure('checkout_session_expired') : undefined;
  }
}

// A card of another customer is not this session's to charge; it is answered like one that does not exist.
function isUsable(card: ConfirmSituation['facts']['paymentMethod'], session: Session): boolean {
  return card !== undefined && (session.customerId === null || card.customerId === session.customerId);
}
