import type { Unknown } from '@eligo/processor';

// So many stored errors one after the other, and the request gives up; each is kept for a day.
const MOST_KEYS = 8;

/**
 * Makes a call under a key, and under the next ones while the processor only replays an error that it has stored: such a key answers nothing else
 * for a day, and carries nothing out any more. After anything else that is unknown the key stays, since the call may still be carried out. Only
 * for calls that may be carried out twice.
 */
export async function pastStoredErrors<Outcome extends { readonly kind: string }>(
  key: string,
  call: (key: string) => Promise<Outcome | Unknown>,
): Promise<Outcome | Unknown> {
  let outcome = await call(key);
  for (let number = 1; number < MOST_KEYS && isStoredError(outcome); number++) {
    outcome = await call(`${key}:${number}`);
  }
  return outcome;
}

function isStoredError(outcome: { readonly kind: string }): boolean {
  return outcome.kind === 'unknown' && 'replayed' in outcome && outcome.replayed === true;
}
