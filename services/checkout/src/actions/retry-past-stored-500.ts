import type { Unknown } from '@eligo/processor';

// After this many stored errors in a row the request gives up; the processor keeps each for a day.
const MAX_KEYS = 8;

/**
 * Calls the processor under a key, and under the next keys while it only replays a stored 500: for a day, such a key returns nothing else and has no
 * effect. After any other unknown outcome the key stays the same, because the call may still take effect. Use it only for calls that are safe to
 * carry out twice.
 */
export async function retryPastStored500<Outcome extends { readonly kind: string }>(
  key: string,
  call: (key: string) => Promise<Outcome | Unknown>,
): Promise<Outcome | Unknown> {
  let outcome = await call(key);
  for (let number = 1; number < MAX_KEYS && isStoredError(outcome); number++) {
    outcome = await call(`${key}:${number}`);
  }
  return outcome;
}

/** Whether the processor replays a 500 that it stored under the key. */
export function isStoredError(outcome: { readonly kind: string }): boolean {
  return outcome.kind === 'unknown' && 'replayed' in outcome && outcome.replayed === true;
}
