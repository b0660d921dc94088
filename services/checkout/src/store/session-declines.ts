import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { type DeclineSource, mostDeclines } from '../domain/session-declines.ts';

/**
 * The SQL that counts one more decline of a session: `sessionId` and `by` are parameters; nothing is counted where `by` is null. A payment that had begun before the
 * last decline may be declined as well: the count stays at its limit.
 */
export function countDeclineText(sessionId: string, by: string): string {
  const { page, request } = mostDeclines;
  return `update checkout.sessions s set
       declines_on_page = case when ${by}::text = 'page' then least(s.declines_on_page + 1, ${page}) else s.declines_on_page end,
       declines_by_request = case when ${by}::text = 'request' then least(s.declines_by_request + 1, ${request}) else s.declines_by_request end
     where s.account_id = $1 and s.test_mode = $2 and s.id = ${sessionId}::text and ${by}::text is not null`;
}

/** Whether the page of a session still takes cards, as SQL. */
export const takesCardsOnPageText: string = `s.declines_on_page < ${mostDeclines.page}`;

const count = scoped<never>('sessions.count_decline', countDeclineText('$3', '$4'));

/** Counts a card that could not be saved for a session. The caller holds the session's row. */
export async function countDecline(tx: Tx, scope: Scope, sessionId: string, by: DeclineSource): Promise<void> {
  await tx.execute(count, scope, [sessionId, by]);
}
