import { Failure } from '@eligo/failures';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Letter } from '../domain/letter.ts';
import { credentialHash, type Reviewer } from '../domain/reviewer.ts';
import type { SessionLine } from '../domain/session.ts';
import { findAnswers, recordRead } from '../store/letter-answers.ts';
import { findLetter } from '../store/letters.ts';
import { findIntents } from '../store/payment-intents.ts';
import { findPaymentMethods } from '../store/payment-methods.ts';
import { scopeOfLetter } from '../store/review-queue.ts';
import { findReviewer } from '../store/reviewers.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { loadSession } from '../store/sessions.ts';
import { decideLetter } from './decide-letter.ts';
import { inOrder, shopperOf } from './receipt-command.ts';
import { answersPlace } from './submit-letter-answers.ts';

/** What a reviewer is shown of a letter. */
export interface Review {
  readonly scope: Scope;
  readonly letter: Letter;
  readonly lines: readonly SessionLine[];
  /** For whom the letter is; undefined where neither the shop nor a card has a name. */
  readonly shopperName: string | undefined;
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
  const { letter, lines, answers, shopperName } = await withTx(database, scope, async (tx) => {
    const found = await findLetter(tx, scope, letterId);
    if (found === undefined) throw new Failure('letter_not_found');
    await recordRead(tx, scope, letterId, reviewer.id, requestId);
    const [all, stored, name] = await Promise.all([
      loadSessionLines(tx, scope, found.sessionId),
      findAnswers(tx, scope, letterId),
      nameOfShopper(tx, scope, found.sessionId),
    ]);
    const lines = all.filter(({ productId }) => productId === found.productId);
    return { letter: found, lines, answers: stored, shopperName: name };
  });
  const text = answers && keyring.open(answers.sealed, answersPlace(scope, letterId));
  return {
    scope,
    letter,
    lines,
    shopperName,
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

// As receipts name the shopper: by the cards that hold or paid, and not by those of earlier tries. A letter is for whom the health card is, so it goes first.
async function nameOfShopper(tx: Tx, scope: Scope, sessionId: string): Promise<string | undefined> {
  const session = await loadSession(tx, scope, sessionId);
  if (session === undefined) return undefined;
  const all = await findIntents(tx, scope, session.paymentIntentIds);
  const paying = all.filter(({ status }) => status === 'requires_capture' || status === 'succeeded');
  const intents = paying.toSorted((one, other) => Number(other.leg === 'health') - Number(one.leg === 'health'));
  const methods = await findPaymentMethods(
    tx,
    scope,
    intents.flatMap(({ paymentMethodId }) => paymentMethodId ?? []),
  );
  return (await shopperOf(tx, scope, session, inOrder(intents, methods))).shopperName;
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
