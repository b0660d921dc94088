import type { Scope, Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { needsLetter } from '../domain/eligibility.ts';
import { canHoldAgain, isRenewableFor, renewalTimeOf } from '../domain/hold-renewal.ts';
import { letterUrlOf, longReviewEnd, reviewEnd } from '../domain/letter.ts';
import type { NextAction, Session } from '../domain/session.ts';
import { type HeldCard, loadHeldCards } from '../store/captures.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { findRenewal } from '../store/hold-renewals.ts';
import { recordCaptureBefore } from '../store/holds.ts';
import { insertLetters, productsWithLetter } from '../store/letters.ts';
import { loadSessionLines } from '../store/session-lines.ts';
import { findChargeableCards } from '../store/session-payments.ts';

/**
 * Opens the letters of a session whose cards were just authorized, one for each product that needs one, and answers what its shopper has to do
 * next. `at` is the time of the session's clock, and `now` that of the processor, whose holds lapse. The caller holds the session's row, and makes it
 * `paid` in this transaction.
 */
export async function openLetters(
  tx: Tx,
  scope: Scope,
  session: Session,
  { at, now }: { readonly at: Date; readonly now: Date },
): Promise<NextAction> {
  const [lines, attempts, held, existing] = await Promise.all([
    loadSessionLines(tx, scope, session.id),
    liveAttempts(tx, scope, 'session', session.id),
    loadHeldCards(tx, scope, session.id),
    productsWithLetter(tx, scope, session.id),
  ]);
  const needing = lines.filter((line) => needsLetter(line.eligibilityClass) && line.amountTotalCents > 0);
  const products = new Set(needing.map((line) => line.productId).filter((product) => !existing.has(product)));
  const url = letterUrlOf(session);
  const isRenewable = await renewHoldsInTime(tx, scope, held, now);
  const isOffSession = attempts.some((attempt) => attempt.offSession);
  await insertLetters(
    tx,
    scope,
    [...products].map((productId) => ({ id: newId('letter'), productId })),
    {
      sessionId: session.id,
      customerId: session.customerId,
      testClockId: session.testClockId,
      url: url ?? null,
      reviewUntil: isRenewable ? longReviewEnd(at) : reviewEnd(at, isOffSession, heldForMs(held, now)),
      createdAt: at,
    },
  );
  return { type: 'collect_letter_of_medical_necessity', ...(url === undefined ? {} : { url }) };
}

// False where a card cannot be authorized again without its owner: the review then ends before its hold lapses.
async function renewHoldsInTime(tx: Tx, scope: Scope, held: readonly HeldCard[], now: Date): Promise<boolean> {
  const ids = held.flatMap(({ intent }) => intent.paymentMethodId ?? []);
  const [found, kept] = await Promise.all([
    findChargeableCards(tx, scope, ids),
    Promise.all(held.map(async ({ intent }) => (await findRenewal(tx, scope, intent.id)).keepsCard)),
  ]);
  const cards = new Map(found.map((card) => [card.id, card]));
  const times = held.flatMap(({ intent: { id, leg, captureBefore, paymentMethodId } }, index) => {
    const card = cards.get(paymentMethodId ?? '');
    const isRenewable = card !== undefined && canHoldAgain(card, leg, kept[index] === true);
    return isRenewable && captureBefore !== null && isRenewableFor(captureBefore, now) ? [{ id, captureBefore }] : [];
  });
  if (held.length === 0 || times.length < held.length) return false;
  await Promise.all(
    times.map(({ id, captureBefore }) =>
      recordCaptureBefore(tx, scope, id, { captureBefore, checkAt: renewalTimeOf(captureBefore) }),
    ),
  );
  return true;
}

// How long the first of the cards is held from now on.
function heldForMs(held: readonly HeldCard[], now: Date): number {
  const ends = held.flatMap(({ intent }) => (intent.captureBefore === null ? [] : [intent.captureBefore.getTime()]));
  return Math.min(...ends) - now.getTime();
}
