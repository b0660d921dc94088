import { randomUUID } from 'node:crypto';
import type { ApiAnswer } from '@eligo/testkit';
import { waitUntil } from '@eligo/testkit';
import { confirm } from '../shop.ts';
import type { Cart, RunningShop } from './running-shop.ts';
import { unlessBroken } from './unless-broken.ts';

/** Whoever confirms, and remembers what each key was answered: a key has one answer, whatever happens in between. */
export interface Shopper {
  /** One request; undefined when the connection broke. Throws when a key gets a second answer, or an answer that no confirm may give. */
  ask(cart: Cart, key: string): Promise<ApiAnswer | undefined>;
  /** Asks until the answer is final, as a client that retries does. */
  insist(cart: Cart, key: string): Promise<ApiAnswer>;
  /** Whether a key of this shopper's has its answer. */
  wasAnswered(cart: Cart, key: string): boolean;
  newKey(): string;
}

/** Past the time in which the slowest part is up again on a busy machine. */
const patienceMs = 90_000;

/** 503 says "ask again"; every other answer is the key's for good. */
const finalStatuses = new Set([200, 400, 402, 409]);

export function newShopper(running: RunningShop): Shopper {
  const answers = new Map<string, string>();
  const ask = async (cart: Cart, key: string) => {
    const answer = await unlessBroken(() => confirm(running.api, cart.sessionId, cart.card, { key }));
    if (answer === undefined || answer.status === 503) return answer;
    if (!finalStatuses.has(answer.status)) throw new Error(`a confirm was answered ${answer.status} ${answer.text}`);
    const name = nameOf(cart, key);
    const earlier = answers.get(name);
    const now = `${answer.status} ${answer.text}`;
    if (earlier !== undefined && earlier !== now) throw new Error(`key ${key} has two answers: ${earlier} and ${now}`);
    answers.set(name, now);
    return answer;
  };
  return {
    ask,
    wasAnswered: (cart, key) => answers.has(nameOf(cart, key)),
    newKey: () => randomUUID(),
    async insist(cart, key) {
      const heard: string[] = [];
      const startedAt = performance.now();
      const final = async () => {
        const answer = await ask(cart, key);
        const said = answer === undefined ? 'no answer' : `${answer.status} ${answer.body.code}`;
        if (!heard.at(-1)?.endsWith(said)) heard.push(`${Math.round(performance.now() - startedAt)} ms ${said}`);
        return answer !== undefined && answer.status !== 503 && answer;
      };
      try {
        return await waitUntil(final, { withinMs: patienceMs, everyMs: 300, what: 'a final answer' });
      } catch (error) {
        throw new Error(`session ${cart.sessionId}, key ${key} heard ${heard.join(', ')}`, { cause: error });
      }
    },
  };
}

function nameOf(cart: Cart, key: string): string {
  return `${cart.sessionId} ${key}`;
}
