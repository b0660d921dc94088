import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Child } from './children/child.ts';

/** Past the slowest cold start on a busy machine. */
const healthyWithinMs = 60_000;

/** Resolves when `url` answers 200, and rejects when the process ends or does not get there, with what its log says last. */
export async function becameHealthy(child: Child, url: string, lastWords: () => string): Promise<void> {
  const deadline = Date.now() + healthyWithinMs;
  let seen = 'no response';
  while (!child.hasEnded()) {
    seen = await look(url);
    if (seen === '200') return;
    if (Date.now() > deadline) {
      await child.stop(1_000);
      throw new Error(
        `${child.name} is not ready after ${healthyWithinMs / 1000} s (${seen}). The end of its log:\n${lastWords()}`,
      );
    }
    await pause(25);
  }
  throw new Error(`${child.name} exited during startup (${await child.ended}). The end of its log:\n${lastWords()}`);
}

// By node:http, since loading what fetch stands on would cost the supervisor more memory than all its own code.
function look(url: string): Promise<string> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 3_000 }, (answer) => {
      let words = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        words = `${words}${text}`.slice(0, 500);
      });
      answer.once('error', (error) => resolve(error.message));
      answer.once('end', () => resolve(answer.statusCode === 200 ? '200' : `${answer.statusCode} ${words}`));
    });
    request.once('timeout', () => request.destroy(new Error('no response in time')));
    request.once('error', (error) => resolve(error.message));
  });
}
