import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { isErasedGuest } from '../store/guest-erasures.ts';
import { insertAnswers } from '../store/letter-answers.ts';
import { lettersInReview } from '../store/letters.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { requireCustomer } from './require-customer.ts';

/**
 * Stores what a shopper answered for the letters of a session that are in review, sealed for each. Answers are given once, because a reviewer may have read them:
 * throws `conflict` for a second time, and `letter_not_in_review` when no letter is in review, and
 * `customer_not_found` once the session's customer is deleted, or its guest is erased: nothing would erase them.
 */
export async function submitLetterAnswers(
  { database, clock, keyring }: Pick<Context, 'database' | 'clock' | 'keyring'>,
  scope: Scope,
  sessionId: string,
  answers: string,
): Promise<void> {
  await withTx(database, scope, async (tx) => {
    const session = await lockSession(tx, scope, sessionId);
    if (session === undefined) throw new Failure('checkout_session_not_found');
    await requireCustomer(tx, scope, session);
    if (session.customerId === null && (await isErasedGuest(tx, scope, sessionId))) {
      throw new Failure('customer_not_found');
    }
    const letterIds = await lettersInReview(tx, scope, sessionId);
    if (letterIds.length === 0) throw new Failure('letter_not_in_review');
    const sealed = letterIds.map((letterId) => ({
      letterId,
      sealed: keyring.seal(answers, answersPlace(scope, letterId)),
    }));
    const at = await timeOnClock(tx, scope, clock, session.testClockId);
    if ((await insertAnswers(tx, scope, sealed, at)) === 0) throw new Failure('conflict');
  });
}

/** What the seal of a letter's answers is bound to: moved to another letter's row, they do not open. */
export function answersPlace(scope: Scope, letterId: string): string {
  return `checkout.letter_answers ${scope.accountId} ${scope.testMode ? 'test' : 'live'} ${letterId}`;
}
