import { Failure } from '@eligo/failures';
import type { ChargeAttempt } from './charge-attempt.ts';
import type { Session } from './session.ts';

/** Who gives the cards of a payment: whoever has the address of the session's page, or the shop with its key. Their declines are counted apart. */
export type PaidBy = 'page' | 'request';

/**
 * How many cards may be declined for one session: enough for a shopper who corrects a card, too few to try out stolen ones. The database has the same limits
 * (`session_declines_are_bounded`).
 */
export const mostDeclines: Readonly<Record<PaidBy, number>> = { page: 20, request: 60 };

/** Who gives the cards of a session that is paid by a plan: an off-session one has no page. */
export function paidBy({ mode }: Pick<Session, 'mode'>): PaidBy {
  return mode === 'off_session' ? 'request' : 'page';
}

/** Whose decline that of an attempt is; undefined for one that counts for no session. A shopper is present on the page alone. */
export function declineOf({ purpose, offSession }: Pick<ChargeAttempt, 'purpose' | 'offSession'>): PaidBy | undefined {
  if (purpose !== 'session') return undefined;
  return offSession ? 'request' : 'page';
}

/** Why a session takes no other card, or undefined while it does. Final: the declines of a session only grow. */
export function refusalByDeclines(
  { declinesOnPage, declinesByRequest }: Pick<Session, 'declinesOnPage' | 'declinesByRequest'>,
  by: PaidBy,
): Failure | undefined {
  const declines = by === 'page' ? declinesOnPage : declinesByRequest;
  return declines < mostDeclines[by] ? undefined : new Failure('checkout_session_payment_tries_exceeded');
}
