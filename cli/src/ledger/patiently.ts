import { setTimeout as pause } from 'node:timers/promises';
import type { NotNow, Unknown } from '@eligo/processor';

const mostTries = 5;
const longestPauseMs = 10_000;

/** Asks a processor again after a rate limit or a lost answer: neither ends a comparison of a year. */
export async function patiently<Outcome extends { kind: string }>(
  ask: () => Promise<Outcome | NotNow | Unknown>,
): Promise<Outcome | NotNow | Unknown> {
  for (let tries = 1; ; tries++) {
    const outcome = await ask();
    if (outcome.kind !== 'not_now' && outcome.kind !== 'unknown') return outcome;
    if (tries === mostTries) return outcome;
    const waitMs = 'retryAfterMs' in outcome ? Number(outcome.retryAfterMs) : 250 * 2 ** tries;
    await pause(Math.min(waitMs, longestPauseMs));
  }
}
