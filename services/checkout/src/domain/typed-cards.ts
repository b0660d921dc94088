import { Failure } from '@eligo/failures';
import type { Session } from './session.ts';

/**
 * How many cards the page of a session takes beside those that it charges at once: both cards of twenty declined payments, and twenty more. The database has the
 * same limit (`typed_cards_are_bounded`).
 */
export const mostTypedCards = 60;

/** Whether the page of a session takes another card. Once it does not, it never does again: the count only grows. */
export function takesTypedCards({ typedCards }: Pick<Session, 'typedCards'>): boolean {
  return typedCards < mostTypedCards;
}

/** The refusal of a card beyond the limit. */
export function tooManyTypedCards(): Failure {
  return new Failure('checkout_session_payment_tries_exceeded', { detail: 'Too many cards were typed on the page.' });
}
