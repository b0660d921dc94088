import { type ApiAnswer, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, text } from '../records.ts';
import { make, newCard } from '../shop.ts';
import { chargesOf } from './charges-of.ts';
import type { PageCrash } from './page-crashes.ts';
import { type Retry, recovered } from './run-confirm-crash.ts';
import { type Cart, newCart, type RunningShop } from './running-shop.ts';
import { newShopper } from './shopper.ts';

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

// The answer, or undefined when the connection broke.
async function pay(running: RunningShop, cart: Cart, second: string): Promise<ApiAnswer | undefined> {
  try {
    return await running.api.post(`/v1/test_helpers/checkout/sessions/${cart.sessionId}/complete`, {
      checkout_session: { payment_method: cart.card, second_payment_method: second },
    });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

// 503 while the first payment is still in flight; then the session as it is, or that it is paid already.
async function insist(running: RunningShop, cart: Cart, second: string): Promise<void> {
  const answer = await waitUntil(
    async () => {
      const given = await pay(running, cart, second);
      return given !== undefined && given.status !== 503 && given;
    },
    { withinMs: 40_000, everyMs: 200, what: 'an answer of the page' },
  );
  if (answer.status !== 200 && answer.status !== 400) throw new Error(`answered ${answer.status} ${answer.text}`);
}

/** Sets a card up in a session that moves no money, has the process die in the middle, and finishes it by asking again. */
export async function runSetUpCrash(running: RunningShop): Promise<void> {
  const { api, eligo } = running;
  const cart = await newCart(running);
  const fields: Json = { mode: 'setup', customer: cart.customer };
  const session = await make(api, '/v1/checkout/sessions', 'checkout_session', fields);
  const path = `/v1/checkout/sessions/${text(session, 'checkout_session_id')}`;
  const setUp = () =>
    api.post(`/v1/test_helpers${path.slice(3)}/complete`, { checkout_session: { payment_method: cart.card } });
  await eligo.armFailpoint('checkout', 'set_up.reserved', { action: 'kill' });
  await Promise.all([Promise.allSettled([setUp()]), recovered(running, 'set_up.reserved')]);
  const left = record(await api.ok('GET', path), 'checkout_session');
  const answer = await setUp();
  const done = record(answer.body, 'checkout_session');
  if (left.status !== 'open' || done.status !== 'complete') {
    throw new Error(`the session was ${left.status}, then ${answer.status} ${answer.text}`);
  }
  await booksAgree(eligo);
}
