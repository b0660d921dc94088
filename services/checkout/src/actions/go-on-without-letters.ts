import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { given, newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import type { Letter } from '../domain/letter.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { splitWithoutLetters } from '../domain/split-version.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { notePageVisit, wasPageSeen } from '../store/page-visits.ts';
import { lockLivePlan } from '../store/payment-plans.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { reopenWithSplit } from '../store/split-versions.ts';
import { scheduleVoids } from './schedule-voids.ts';

// A page that waits for its letters asks every ten seconds; this covers a few lost requests.
const seenWithinMs = 60_000;

// Two of three polls of a page find it noted, and open no transaction.
const noteEveryMs = 25_000;

/** Notes that the shopper of a session that waits for its letters is on its page. */
export async function noteWaitingShopper(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  sessionId: string,
): Promise<void> {
  const now = clock.now();
  if (await wasPageSeen(database, scope, sessionId, new Date(now.getTime() - noteEveryMs))) return;
  await withTx(database, scope, (tx) => notePageVisit(tx, scope, sessionId, now));
}

/**
 * The attempts that hold the cards of a session whose letter is denied, where its shopper can go on with another card: the session was paid on its page, and the
 * page is open. Undefined where not: a confirm has held the eligible part alone; the shop collects the remainder by itself, so the page must not ask for it.
 */
export async function attemptsOfShopper(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  scope: Scope,
  session: Session,
): Promise<ChargeAttempt[] | undefined> {
  const since = new Date(clock.now().getTime() - seenWithinMs);
  if (!(await wasPageSeen(tx, scope, session.id, since))) return undefined;
  const attempts = await liveAttempts(tx, scope, 'session', session.id);
  if ((await lockLivePlan(tx, scope, session.id))?.plan.eligibleOnly) return undefined;
  return attempts.length > 0 && attempts.every(({ driver }) => driver === 'page') ? attempts : undefined;
}

/**
 * Makes a session open again without the lines of its denied letters: a new version of its split is appended, and the holds are voided, so that each card is
 * then charged for its part of that version. Throws `lock_timeout` while money of the session is moving. The caller holds the session's row.
 */
export async function goOnWithoutLetters(
  tx: Tx,
  scope: Scope,
  session: Session,
  {
    denied,
    attempts,
    expiresAt,
  }: { readonly denied: readonly Letter[]; readonly attempts: readonly ChargeAttempt[]; readonly expiresAt: Date },
  at: Date,
): Promise<Session> {
  const ended = new Failure('checkout_session_already_processed');
  if (!(await scheduleVoids(tx, scope, session.id, at, ended, attempts))) {
    throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  }
  const lines = await loadSessionLines(tx, scope, session.id);
  return reopenWithSplit(tx, scope, session, lines, {
    ...splitWithoutLetters(lines, denied),
    id: newId('split_cart'),
    at,
    expiresAt,
    nextAction: otherCardNeeded(session),
  });
}

function otherCardNeeded({ details }: Session): NextAction {
  return {
    type: 'provide_alternative_payment_method',
    message: 'A letter of medical necessity was denied. Use another card for the items that are not eligible.',
    ...given({ url: details.redirectUrl }),
  };
}
