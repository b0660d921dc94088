import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { findLetter } from '../store/letters.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { cancelPaidSession } from './end-session.ts';

/**
 * Ends a review whose time is over: the session is canceled, its holds are voided, and every letter of it that is in review expires (decisions 7).
 * Returns false when it was decided meanwhile or its time is not over.
 */
export async function expireLetterIfDue(
  needs: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  id: string,
): Promise<boolean> {
  return withTx(needs.database, scope, async (tx) => {
    const found = await findLetter(tx, scope, id);
    if (found === undefined) return false;
    const session = await lockSession(tx, scope, found.sessionId);
    // What was decided before its session's row was locked.
    const letter = await findLetter(tx, scope, id);
    if (session === undefined || letter?.status !== 'in_review') return false;
    const at = await timeOnClock(tx, scope, needs.clock, session.testClockId);
    if (letter.reviewUntil > at) return false;
    await cancelPaidSession(needs, tx, scope, session);
    return true;
  });
}
