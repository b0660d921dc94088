import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { awaitsLetters, type Letter, validityEnd } from '../domain/letter.ts';
import type { Reviewer } from '../domain/reviewer.ts';
import type { Session } from '../domain/session.ts';
import { reopenedUntil } from '../domain/split-version.ts';
import { findLetter, lettersOfSession, markDecided } from '../store/letters.ts';
import { lockSession, saveSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { captureSoon } from './carry-out-capture.ts';
import { appendLetterEvent } from './end-letters.ts';
import { cancelPaidSession } from './end-session.ts';
import { attemptsOfShopper, goOnWithoutLetters } from './go-on-without-letters.ts';
import { requestCaptureOfHolds } from './request-capture.ts';
import { voidHolds } from './void-holds.ts';

/**
 * Approves or denies a letter, once: a second decision is `letter_not_in_review`. In the same transaction, the last approval of a session requests the
 * capture of its holds, unless the shop captures by itself, and a denial cancels the session and voids them (decisions 7). While the shopper of a denied letter is
 * on the page, the session waits for its other letters instead, and then goes on with another card. The calls to the processor follow; the sweeper finishes
 * what this process does not. A live letter needs a reviewer, and the database refuses the decision without one.
 */
export async function decideLetter(
  context: Context,
  scope: Scope,
  id: string,
  verdict: 'approved' | 'denied',
  reviewer: Reviewer | null = null,
): Promise<Letter> {
  const { letter, session } = await withTx(context.database, scope, async (tx) => {
    const decided = await decide(context, tx, scope, id, verdict, reviewer);
    await context.failpoint('letter.before_decision_commit');
    return decided;
  });
  await context.failpoint('letter.decided');
  if (session.status === 'canceled' || session.status === 'open') await voidHolds(context, scope, session);
  else await captureSoon(context, scope, session);
  return letter;
}

async function decide(
  context: Context,
  tx: Tx,
  scope: Scope,
  id: string,
  verdict: 'approved' | 'denied',
  reviewer: Reviewer | null,
): Promise<{ letter: Letter; session: Session }> {
  // The session before its letters, as every writer locks them.
  const found = await findLetter(tx, scope, id);
  if (found === undefined) throw new Failure('letter_not_found');
  const session = await lockSession(tx, scope, found.sessionId);
  if (session === undefined) throw new Error(`Session ${found.sessionId} not found`);
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  // Over, if not yet recorded: the hold may lapse before its capture.
  if (found.reviewUntil <= at) throw new Failure('letter_not_in_review');
  const validUntil = verdict === 'approved' ? validityEnd(at) : null;
  const letter = await markDecided(tx, scope, id, { status: verdict, validUntil, at, reviewer });
  if (letter === undefined) throw new Failure('letter_not_in_review');
  await appendLetterEvent(tx, scope, letter, at);
  return { letter, session: await follow(context, tx, scope, session, at) };
}

// What the session does with the decisions so far.
async function follow(context: Context, tx: Tx, scope: Scope, session: Session, at: Date): Promise<Session> {
  const letters = [...(await lettersOfSession(tx, scope, session.id)).values()];
  const denied = letters.filter(({ status }) => status === 'denied');
  const isWaiting = awaitsLetters(session);
  if (!isWaiting && denied.length === 0) return session;
  const expiresAt = isWaiting && denied.length > 0 ? reopenedUntil(session, letters, at) : undefined;
  const attempts = expiresAt && (await attemptsOfShopper(context, tx, scope, session));
  if (denied.length > 0 && attempts === undefined) return cancelPaidSession(context, tx, scope, session);
  if (letters.some(({ status }) => status === 'in_review')) return session;
  if (attempts !== undefined && expiresAt !== undefined) {
    return goOnWithoutLetters(tx, scope, session, { denied, attempts, expiresAt }, at);
  }
  const after = await saveSession(tx, scope, session, { ...session, nextAction: null });
  if (session.captureMethod === 'automatic') await requestCaptureOfHolds(tx, scope, after, at);
  return after;
}
