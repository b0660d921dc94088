import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Letter } from '../domain/letter.ts';
import { credentialHash, type Reviewer } from '../domain/reviewer.ts';
import type { SessionLine } from '../domain/session.ts';
import { findAnswers, recordRead } from '../store/letter-answers.ts';
import { findLetter } from '../store/letters.ts';
import { scopeOfLetter } from '../store/review-queue.ts';
import { findReviewer } from '../store/reviewers.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { decideLetter } from './decide-letter.ts';
import { answersPlace } from './submit-letter-answers.ts';

/** What a reviewer is shown of a letter. */
export interface Review {
  readonly scope: Scope;
  readonly letter: Letter;
  readonly lines: readonly SessionLine[];
  /** Undefined until the shopper has answered. */
  readonly answers: { readonly text: string; readonly submittedAt: Date } | undefined;
}

/**
 * Opens a letter with its shopper's answers for a reviewer. The read is recorded before the answers are opened, so that none goes unrecorded. Throws
 * `unauthorized` for a credential that is unknown or revoked.
 */
export async function openReview(
  { database, keyring }: Pick<Context, 'database' | 'keyring'>,
  letterId: string,
  credential: string,
  requestId: string,
): Promise<Review> {
  const reviewer = await reviewerOf(database, credential);
  const scope = await scopeOf(database, letterId);
  const { letter, lines, answers } = await withTx(database, scope, async (tx) => {
    const found = await findLetter(tx, scope, letterId);
    if (found === undefined) throw new Failure('letter_not_found');
    await recordRead(tx, scope, letterId, reviewer.id, requestId);
    const [all, stored] = await Promise.all([
      loadSessionLines(tx, scope, found.sessionId),
      findAnswers(tx, scope, letterId),
    ]);
    return { letter: found, lines: all.filter(({ productId }) => productId === found.productId), answers: stored };
  });
  const text = answers && keyring.open(answers.sealed, answersPlace(scope, letterId));
  return {
    scope,
    letter,
    lines,
    answers: text === undefined || answers === undefined ? undefined : { text, submittedAt: answers.submittedAt },
  };
}

/** Decides a letter by a reviewer's credential, whose name, license and state are kept with the decision. Throws as `openReview` and `decideLetter` do. */
export async function decideByReviewer(
  context: Context,
  letterId: string,
  credential: string,
  verdict: 'approved' | 'denied',
): Promise<{ scope: Scope; letter: Letter }> {
  const reviewer = await reviewerOf(context.database, credential);
  const scope = await scopeOf(context.database, letterId);
  return { scope, letter: await decideLetter(context, scope, letterId, verdict, reviewer) };
}

async function reviewerOf(database: Context['database'], credential: string): Promise<Reviewer> {
  const reviewer = await findReviewer(database, credentialHash(credential));
  if (reviewer === undefined) throw new Failure('unauthorized');
  return reviewer;
}

async function scopeOf(database: Context['database'], letterId: string): Promise<Scope> {
  const scope = await scopeOfLetter(database, letterId);
  if (scope === undefined) throw new Failure('letter_not_found');
  return scope;
}
