import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import type { Letter } from '../domain/letter.ts';
import { letterMessage } from '../messages/letter.ts';
import { expireLettersOf } from '../store/letters.ts';

/** Ends the reviews of a session that ends without them, with their events. The caller holds the session's row. */
export async function endLetters(tx: Tx, scope: Scope, sessionId: string, at: Date): Promise<void> {
  for (const letter of await expireLettersOf(tx, scope, sessionId, at)) await appendLetterEvent(tx, scope, letter, at);
}

/** Appends the event of a review that has just ended. The caller holds the session's row. */
export async function appendLetterEvent(tx: Tx, scope: Scope, letter: Letter, at: Date): Promise<void> {
  if (letter.status === 'in_review') throw new Error(`Letter ${letter.id} is still in review`);
  await append(tx, {
    ...scope,
    type: `consultation.${letter.status}`,
    aggregateId: letter.id,
    at,
    object: { case: 'letter', value: letterMessage(scope, letter) },
  });
}
