import { Failure } from '@eligo/failures';
import type { ChargeAttempt } from './charge-attempt.ts';
import type { Session } from './session.ts';

/** Who gave a declined card: a shopper on the session's page, or the shop by a request with its key. Each has its own count. */
export type DeclineSource = 'page' | 'request';

/**
 * How many cards may be declined for one session: enough for a shopper who corrects a card, too few for card testing. The database has the same limits
 * (`session_declines_are_bounded`).
 */
export const mostDeclines: Readonly<Record<DeclineSource, number>> = { page: 20, request: 60 };

/** Whether a request of the shop charges the cards of a session, with no shopper present: a session without a page, or a confirm, which pays the eligible part alone. */
export function isChargedByRequest({ mode }: Pick<Session, 'mode'>, eligibleOnly = false): boolean {
  return mode === 'off_session' || eligibleOnly;
}

/** Where the declines of a session's cards count; `eligibleOnly` as in its payment plan. */
export function declineSourceOf(session: Pick<Session, 'mode'>, eligibleOnly = false): DeclineSource {
  return isChargedByRequest(session, eligibleOnly) ? 'request' : 'page';
}

/** Where the decline of an attempt counts; undefined for one that is not of a session. */
export function declineSourceOfAttempt({
  purpose,
  offSession,
}: Pick<ChargeAttempt, 'purpose' | 'offSession'>): DeclineSource | undefined {
  if (purpose !== 'session') return undefined;
  return offSession ? 'request' : 'page';
}

/** Why a session takes no other card, or undefined while it does. Final: the declines of a session only grow. */
export function refusalByDeclines(
  { declinesOnPage, declinesByRequest }: Pick<Session, 'declinesOnPage' | 'declinesByRequest'>,
  by: DeclineSource,
): Failure | undefined {
  const declines = by === 'page' ? declinesOnPage : declinesByRequest;
  return declines < mostDeclines[by] ? undefined : new Failure('checkout_session_payment_tries_exceeded');
}
