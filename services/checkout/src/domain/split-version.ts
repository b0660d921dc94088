import { type Cents, cents, sumCents } from '@eligo/values';
import { needsLetter } from './eligibility.ts';
import type { Letter } from './letter.ts';
import type { Session, SessionLine } from './session.ts';

/** What the latest version of a session's split says. Totals, line amounts and buckets are those of its creation: a letter's lines are in no bucket. */
export interface SplitVersion {
  readonly eligibleCents: Cents;
  readonly lines: readonly SessionLine[];
}

/** The split of a session without the lines of denied letters, which no health card may pay any more. */
export function splitWithoutLetters(lines: readonly SessionLine[], denied: readonly Letter[]): SplitVersion {
  const letters = new Map(denied.map((letter) => [letter.productId, letter]));
  const after = lines.map((line): SessionLine => {
    const letter = letters.get(line.productId);
    if (letter === undefined || !needsLetter(line.eligibilityClass)) return line;
    return {
      ...line,
      amountEligibleCents: cents(0),
      eligibilityClass: 'not_eligible',
      eligibilityRule: letterDenied,
      eligibilityRuleVersion: letter.id,
      rationale: 'The letter of medical necessity for this product was denied.',
    };
  });
  return { eligibleCents: sumCents(after.map((line) => line.amountEligibleCents)), lines: after };
}

/** The rule that decides the lines of a denied letter. */
export const letterDenied = 'letter_denied';

/**
 * Until when the shopper of a session that is open again can give another card: as long as it was and an hour at least, and never longer than the letters that the
 * session still relies on. Undefined where one of these ends within the hour: a card that is charged anew then would be charged on an expired letter.
 */
export function reopenedUntil(
  { expiresAt }: Pick<Session, 'expiresAt'>,
  letters: readonly Pick<Letter, 'validUntil'>[],
  at: Date,
): Date | undefined {
  const anHourOn = at.getTime() + anHourMs;
  const letterEnds = letters.flatMap(({ validUntil }) => validUntil?.getTime() ?? []);
  const until = Math.min(Math.max(expiresAt.getTime(), anHourOn), ...letterEnds);
  return until < anHourOn ? undefined : new Date(until);
}

const anHourMs = 3_600_000;
