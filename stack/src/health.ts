import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Child } from './children/child.ts';

/** Past the slowest cold start on a busy machine. */
const healthyWithinMs = 60_000;

/** Resolves when `url` answers 200, and rejects when the process ends or does not get there, with what its log says last. */
export function becameHealthy(child: Child, url: string, lastWords: () => string): Promise<void> {
  return waitFor(child, url, lastWords, ({ status }) => status === 200);
}

/**
 * Resolves when the checks of these names succeed at a gateway's `url`. It serves without some of the services, and looks again for one that was not there after a pause of
 * up to 360 ms: until then it refuses the requests that need that service, although it listens by now.
 */
export function reachesAll(
  child: Child,
  url: string,
  names: readonly string[],
  lastWords: () => string,
): Promise<void> {
  return waitFor(child, url, lastWords, ({ status, body }) => {
    if (status !== 200) return false;
    const { checks } = JSON.parse(body) as { readonly checks: Readonly<Record<string, string>> };
    // One that serves without events or with a disk that is nearly full is reached.
    return names.every((name) => checks[name] === 'ok' || checks[name] === 'degraded');
  });
}

async function waitFor(
  child: Child,
  url: string,
  lastWords: () => string,
  isMet: (seen: Answer) => boolean,
): Promise<void> {
  const deadline = Date.now() + healthyWithinMs;
  while (!child.hasEnded()) {
    const seen = await look(url);
    if (isMet(seen)) return;
    if (Date.now() > deadline) {
      await child.stop(1_000);
      throw new Error(
        `${child.name} is not ready after ${healthyWithinMs / 1000} s (${textOf(seen)}). The end of its log:\n${lastWords()}`,
      );
    }
    await pause(25);
  }
  throw new Error(`${child.name} exited during startup (${await child.ended}). The end of its log:\n${lastWords()}`);
}

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

function textOf({ status, body }: Answer): string {
  return status === undefined ? body : `${status} ${body.slice(0, 500)}`;
}

// By node:http, since loading what fetch stands on would cost the supervisor more memory than all its own code.
function look(url: string): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: undefined, body: error.message });
    const request = get(url, { agent: false, timeout: 3_000 }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body = `${body}${text}`.slice(0, longestAnswer);
      });
      answer.once('error', failed);
      answer.once('end', () => resolve({ status: answer.statusCode, body }));
    });
    request.once('timeout', () => request.destroy(new Error('no response in time')));
    request.once('error', failed);
  });
}

// The names of all checks and their reasons.
const longestAnswer = 10_000;
