import { randomUUID } from 'node:crypto';
import type { ApiAnswer } from '@eligo/testkit';
import { type Cart, newCart, type RunningShop } from '../crashes/running-shop.ts';
import { newShopper, type Shopper } from '../crashes/shopper.ts';
import type { Random } from './random.ts';

/** How a client behaves. 15 % never ask a second time: whoever retries everything never sees that nobody else finishes it. */
export type Manner = 'silent' | 'patient' | 'two keys at once' | 'another key';

/** One cart and whoever pays it. */
export interface Client {
  readonly cart: Cart;
  readonly manner: Manner;
  readonly card: 'hsa' | 'declined';
  /** Confirms, as its manner is. */
  confirm(): Promise<void>;
  /** Asks once more with each key that it was answered for: the answer must be the same. */
  again(): Promise<void>;
  /** The final answers that it got. */
  readonly answers: ApiAnswer[];
}

/** Fills one cart. */
export async function newClient(running: RunningShop, random: Random, only?: Manner): Promise<Client> {
  const manner = only ?? mannerOf(random.next());
  const card = random.next() < 0.12 ? 'declined' : 'hsa';
  const cart = await newCart(running, card);
  const shopper = newShopper(running);
  const keys = [randomUUID(), randomUUID()] as const;
  const answers: ApiAnswer[] = [];
  return {
    cart,
    manner,
    card,
    answers,
    async confirm() {
      answers.push(...(await act(manner, cart, shopper, keys)));
    },
    async again() {
      for (const key of keys) if (shopper.wasAnswered(cart, key)) await shopper.insist(cart, key);
    },
  };
}

function mannerOf(share: number): Manner {
  if (share < 0.15) return 'silent';
  if (share < 0.3) return 'two keys at once';
  if (share < 0.45) return 'another key';
  return 'patient';
}

async function act(
  manner: Manner,
  cart: Cart,
  shopper: Shopper,
  [first, second]: readonly [string, string],
): Promise<ApiAnswer[]> {
  switch (manner) {
    case 'silent':
      return isFinal(await shopper.ask(cart, first));
    case 'patient':
      return [await shopper.insist(cart, first)];
    case 'two keys at once':
      return Promise.all([shopper.insist(cart, first), shopper.insist(cart, second)]);
    case 'another key': {
      const answer = isFinal(await shopper.ask(cart, first));
      return answer.length > 0 ? answer : [await shopper.insist(cart, second)];
    }
  }
}

function isFinal(answer: ApiAnswer | undefined): ApiAnswer[] {
  return answer === undefined || answer.status === 503 ? [] : [answer];
}
