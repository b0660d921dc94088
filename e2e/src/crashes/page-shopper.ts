import { sandboxAccountOf } from '@eligo/processor';
import { type Json, text } from '../records.ts';
import { newSession } from '../shop.ts';
import type { RunningShop } from './running-shop.ts';
import { unlessBroken } from './unless-broken.ts';
import { untilAnswered } from './until-answered.ts';

/** A session that its shopper pays on its page. */
export interface PageCart {
  readonly sessionId: string;
  readonly url: string;
  /** What a health card pays, and the whole. */
  readonly eligibleCents: number;
  readonly totalCents: number;
}

/** What a request of the page was answered. */
export interface PageAnswer {
  readonly status: number;
  readonly body: Json;
}

/** The numbers that the shopper types. */
export const numbers = {
  hsa: '4000051230000072',
  /** Has 25.00. */
  shortHsa: '4000051230000106',
  credit: '4242424242424242',
  declined: '4000000000000002',
  /** Its bank asks the shopper to confirm each payment. */
  authenticated: '4000002500003155',
} as const;
export type TypedNumber = keyof typeof numbers;

/** Cards by their slot on the page. */
export interface TypedCards {
  readonly health?: string;
  readonly other?: string;
}

/** Opens a session without a customer, and its page. */
export async function newPageCart({ api, shop }: RunningShop, fields: Json = {}): Promise<PageCart> {
  const session = await newSession(api, shop, fields);
  return {
    sessionId: text(session, 'checkout_session_id'),
    url: text(session, 'redirect_url'),
    eligibleCents: (session.total_details as { amount_iias: number }).amount_iias,
    totalCents: session.amount_total as number,
  };
}

/** Types a card into the card fields: the processor's identifier of it. */
export async function typeCard({ eligo, account: accountId }: RunningShop, card: TypedNumber): Promise<string> {
  const { url } = eligo.processor;
  const account = sandboxAccountOf({ accountId, testMode: true });
  const answer = await fetch(`${url}/fields/payment_methods`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json', origin: new URL(url).origin } },
    body: JSON.stringify({ account, number: numbers[card], expMonth: 12, expYear: 2040, cvc: '123' }),
  });
  return text((await answer.json()) as Json, 'id');
}

/** Sends cards once; undefined when the connection broke. */
export function payOnPage({ url }: PageCart, { health, other }: TypedCards): Promise<PageAnswer | undefined> {
  const cards = [
    ...(health === undefined ? [] : [{ payment_method: health, slot: 'health' }]),
    ...(other === undefined ? [] : [{ payment_method: other, slot: 'other' }]),
  ];
  return send(`${url}/pay`, { method: 'POST', body: JSON.stringify({ cards }) });
}

/** Says once that the bank has its answer. */
export function resumeOnPage({ url }: PageCart, giveUp = false): Promise<PageAnswer | undefined> {
  return send(`${url}/authenticate`, { method: 'POST', body: JSON.stringify({ give_up: giveUp }) });
}

/** Reloads the page until no payment is under way, but for one that waits for its bank. */
export async function reloadPage(cart: PageCart): Promise<Json> {
  const { status, body } = await insistOnPage(async () => {
    const answer = await send(`${cart.url}/session`, {});
    const isWaiting = answer?.body.payment_in_flight === true && answer.body.authentication === null;
    return isWaiting ? undefined : answer;
  });
  if (status !== 200) throw new Error(`the page was answered ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Asks until there is an answer that does not say to ask again. */
export function insistOnPage(ask: () => Promise<PageAnswer | undefined>): Promise<PageAnswer> {
  return untilAnswered(ask, { what: 'an answer of the page', withinMs: 60_000, again: [503, 429] });
}

/** The same of a payment, after which the page is as it then is, or the session was paid already. Throws at any other answer. */
export async function insistOnPayment(ask: () => Promise<PageAnswer | undefined>): Promise<void> {
  const { status, body } = await insistOnPage(ask);
  if (status !== 200 && body.code !== 'checkout_session_already_processed') {
    throw new Error(`the page was answered ${status} ${JSON.stringify(body)}`);
  }
}

function send(url: string, request: RequestInit): Promise<PageAnswer | undefined> {
  return unlessBroken(async () => {
    const answer = await fetch(url, { headers: { 'content-type': 'application/json' }, ...request });
    return { status: answer.status, body: (await answer.json()) as Json };
  });
}
