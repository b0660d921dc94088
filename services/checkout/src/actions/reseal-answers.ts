import { type Database, inPages, withTx } from '@eligo/postgres';
import type { Keyring } from '@eligo/service';
import { readSealedAnswers, replaceSealedAnswers, type SealedAnswers } from '../store/sealed-answers.ts';
import { answersPlace } from './submit-letter-answers.ts';

/** What became of the sealed answers. */
export interface ResealedAnswers {
  readonly total: number;
  readonly resealed: number;
  /** Letters whose answers open under no key of the ring. */
  readonly unopened: readonly string[];
}

/**
 * Reseals the answers of letters that are under another key under the first key of the keyring. They never change otherwise, so it may be stopped,
 * repeated, and run beside the service. `database` is open as a role that row-level security does not bind.
 */
export async function resealAnswers(database: Database, keyring: Keyring): Promise<ResealedAnswers> {
  let total = 0;
  let resealed = 0;
  const unopened: string[] = [];
  await inPages<SealedAnswers>(rowsOfPage, async (after) => {
    const page = await readSealedAnswers(database, after, rowsOfPage);
    for (const answers of page) {
      const outcome = await reseal(database, keyring, answers);
      if (outcome === 'unopened') unopened.push(answers.letterId);
      else if (outcome === 'resealed') resealed += 1;
    }
    total += page.length;
    return page;
  });
  return { total, resealed, unopened };
}

const rowsOfPage = 500;

async function reseal(
  database: Database,
  keyring: Keyring,
  answers: SealedAnswers,
): Promise<'resealed' | 'current' | 'unopened'> {
  const place = answersPlace(answers.scope, answers.letterId);
  let sealedAnew: string;
  try {
    const opened = keyring.open(answers.sealed, place);
    if (!keyring.isStale(answers.sealed)) return 'current';
    sealedAnew = keyring.seal(opened, place);
  } catch {
    // Its text adds nothing and does not belong in a log.
    return 'unopened';
  }
  await withTx(database, answers.scope, (tx) => replaceSealedAnswers(tx, answers, sealedAnew));
  return 'resealed';
}
