import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { needsLetter } from '../domain/eligibility.ts';
import { letterUrlOf, reviewEnd } from '../domain/letter.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { insertLetters, productsWithLetter } from '../store/letters.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/**
 * Opens the letters of a session whose cards were just authorized, one for each product that needs one, and answers what its shopper has to do
 * next. The caller holds the session's row, and makes it `paid` in this transaction.
 */
export async function openLetters(tx: Tx, scope: Scope, session: Session, at: Date): Promise<NextAction> {
  const [lines, attempts, existing] = await Promise.all([
    loadSessionLines(tx, scope, session.id),
    liveAttempts(tx, scope, 'session', session.id),
    productsWithLetter(tx, scope, session.id),
  ]);
  const needing = lines.filter((line) => needsLetter(line.eligibilityClass) && line.amountTotalCents > 0);
  const products = new Set(needing.map((line) => line.productId).filter((product) => !existing.has(product)));
  const url = letterUrlOf(session);
  await insertLetters(
    tx,
    scope,
    [...products].map((productId) => ({ id: newId('letter'), productId })),
    {
      sessionId: session.id,
      customerId: session.customerId,
      testClockId: session.testClockId,
      url: url ?? null,
      reviewUntil: reviewEnd(
        at,
        attempts.some((attempt) => attempt.offSession),
      ),
      createdAt: at,
    },
  );
  return { type: 'collect_letter_of_medical_necessity', ...(url === undefined ? {} : { url }) };
}
