import type { ApiAnswer } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, text } from '../records.ts';
import { make, newCard } from '../shop.ts';
import { chargesOf } from './charges-of.ts';
import type { PageCrash } from './page-crashes.ts';
import { type Retry, recovered } from './run-confirm-crash.ts';
import { type Cart, newCart, type RunningShop } from './running-shop.ts';
import { newShopper } from './shopper.ts';
import { unlessBroken } from './unless-broken.ts';
import { untilAnswered } from './until-answered.ts';

/**
 * Pays on the page with two cards, has the process die there, and holds what becomes of it against the model: both cards are charged once and
 * the session is complete; or the second was declined, nothing was taken and the session stays open. `another key` comes in by the other door, a
 * confirm: then the health card may have paid alone, still once.
 */
export async function runPageCrash(running: RunningShop, crash: PageCrash, retry: Retry): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  const second = await newCard(running.api, cart.customer, crash.second ?? 'credit');
  await eligo.armFailpoint('checkout', crash.failpoint, { action: 'kill', skip: crash.skip ?? 0 });
  await Promise.all([pay(running, cart, second), recovered(running, crash.failpoint)]);

  const shopper = newShopper(running);
  if (retry === 'same key') await insist(running, cart, second);
  if (retry === 'another key') await shopper.insist(cart, shopper.newKey());
  await booksAgree(eligo);

  const session = record(await running.api.ok('GET', `/v1/checkout/sessions/${cart.sessionId}`), 'checkout_session');
  const taken = (await chargesOf(running, cart.sessionId)).map((charge) => charge.amount_captured as number);
  const seen = `${session.status}, received ${session.amount_received}, charged ${taken.toSorted((a, b) => a - b).join(' + ')}`;
  const possible = outcomes(cart, crash, retry);
  if (!possible.includes(seen)) throw new Error(`the session is ${seen}; the model allows ${possible.join(' or ')}`);
}

function outcomes(cart: Cart, crash: PageCrash, retry: Retry): string[] {
  const { eligibleCents: health, totalCents: total } = cart;
  const parts = [health, total - health].toSorted((a, b) => a - b);
  const both = `complete, received ${total}, charged ${parts.join(' + ')}`;
  const none = 'open, received 0, charged ';
  const healthAlone = `complete, received ${health}, charged ${health}`;
  const own = crash.second === 'declined' ? none : both;
  return retry === 'another key' ? [own, healthAlone] : [own];
}

function pay(running: RunningShop, cart: Cart, second: string): Promise<ApiAnswer | undefined> {
  return complete(running, cart.sessionId, { payment_method: cart.card, second_payment_method: second });
}

// The answer, or undefined when the connection broke.
function complete({ api }: RunningShop, sessionId: string, fields: Json): Promise<ApiAnswer | undefined> {
  const path = `/v1/test_helpers/checkout/sessions/${sessionId}/complete`;
  return unlessBroken(() => api.post(path, { checkout_session: fields }));
}

// The session as it is, or that it is paid already.
async function insist(running: RunningShop, cart: Cart, second: string): Promise<void> {
  await accepted(() => pay(running, cart, second));
}

async function accepted(ask: () => Promise<ApiAnswer | undefined>): Promise<void> {
  const answer = await final(ask);
  if (answer.status !== 200 && answer.status !== 400) throw new Error(`answered ${answer.status} ${answer.text}`);
}

// 503 while the first try is still in flight, and after a call that a cold process did not end within its second.
function final(ask: () => Promise<ApiAnswer | undefined>): Promise<ApiAnswer> {
  return untilAnswered(ask, { what: 'an answer of the page', withinMs: 40_000 });
}

/** Sets a card up in a session that moves no money, has the process die in the middle, and finishes it by asking again. */
export async function runSetUpCrash(running: RunningShop): Promise<void> {
  const { api, eligo } = running;
  const cart = await newCart(running);
  const fields: Json = { mode: 'setup', customer: cart.customer };
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', fields);
  const sessionId = text(session, 'checkout_session_id');
  const path = `/v1/checkout/sessions/${sessionId}`;
  const setUp = () => complete(running, sessionId, { payment_method: cart.card });
  await eligo.armFailpoint('checkout', 'set_up.reserved', { action: 'kill' });
  await Promise.all([setUp(), recovered(running, 'set_up.reserved')]);
  const left = record(await api.ok('GET', path), 'checkout_session');
  await accepted(setUp);
  const done = record(await api.ok('GET', path), 'checkout_session');
  if (left.status !== 'open' || done.status !== 'complete') {
    throw new Error(`the session was ${left.status}, then ${done.status}`);
  }
  await booksAgree(eligo);
}
