import { setTimeout as pause } from 'node:timers/promises';
import type { Child } from './children/child.ts';

/** Past the slowest cold start on a busy machine. */
const healthyWithinMs = 60_000;

/** Resolves when `url` answers 200, and rejects when the process ends or does not get there, with what its log says last. */
export async function becameHealthy(child: Child, url: string, lastWords: () => string): Promise<void> {
  const deadline = Date.now() + healthyWithinMs;
  let seen = 'no answer';
  while (!child.hasEnded()) {
    seen = await look(url);
    if (seen === '200') return;
    if (Date.now() > deadline) {
      await child.stop(1_000);
      throw new Error(
        `${child.name} is not ready after ${healthyWithinMs / 1000} s (${seen}). Its log ends:\n${lastWords()}`,
      );
    }
    await pause(25);
  }
  throw new Error(`${child.name} ended while starting (${await child.ended}). Its log ends:\n${lastWords()}`);
}

async function look(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(3_000), headers: { connection: 'close' } });
    const words = await answer.text();
    return answer.ok ? '200' : `${answer.status} ${words.slice(0, 500)}`;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    return cause instanceof Error ? cause.message : String(error);
  }
}
