import { randomUUID } from 'node:crypto';
import { type ApiAnswer, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { type Json, record, records } from '../records.ts';
import { chargesOf } from './charges-of.ts';
import type { RefundCrash } from './refund-crashes.ts';
import { expectAnswer, type Retry, recovered } from './run-confirm-crash.ts';
import { type Cart, newCart, type RunningShop } from './running-shop.ts';
import { newShopper } from './shopper.ts';
import { unlessBroken } from './unless-broken.ts';
import { untilAnswered } from './until-answered.ts';

const refundCents = 1_000;

/**
 * Gives part of a paid session back, has the process die there, and holds what becomes of it against the model: the refund that was asked for is
 * made once, whoever asks again; another key asks for another one. What the bank returns counts as never refunded.
 */
export async function runRefundCrash(running: RunningShop, crash: RefundCrash, retry: Retry): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  const shopper = newShopper(running);
  expectAnswer(await shopper.insist(cart, shopper.newKey()), 200);
  const key = randomUUID();
  if (crash.returned) await dieWhileReturned(running, crash, cart, key);
  else {
    if (crash.fault) await eligo.sandbox('POST', '/sandbox/faults', { fault: crash.fault });
    await eligo.armFailpoint('refunds', crash.failpoint, { action: 'kill' });
    await Promise.all([ask(running, cart, key), recovered(running, crash.failpoint)]);
  }
  if (retry === 'same key') await insist(running, cart, key);
  if (retry === 'another key') await insist(running, cart, randomUUID());
  await booksAgree(eligo);

  const made = crash.returned ? 0 : 1;
  await expectRefunded(running, cart, refundCents * (made + (retry === 'another key' ? 1 : 0)));
  // The key stands for its one refund, also for whoever comes back late.
  const late = [await insist(running, cart, key), await insist(running, cart, key)].map(({ text }) => text);
  if (late[0] !== late[1]) throw new Error(`the key has two answers: ${late.join(' and ')}`);
  await booksAgree(eligo);
  await expectRefunded(running, cart, refundCents * (made + (retry === 'another key' ? 1 : 0)));
}

async function dieWhileReturned(running: RunningShop, crash: RefundCrash, cart: Cart, key: string): Promise<void> {
  const { api, eligo } = running;
  const answer = await insist(running, cart, key);
  const [refundId] = record(answer.body, 'checkout_session').refunds as string[];
  await waitUntil(async () => record(await api.ok('GET', `/v1/refunds/${refundId}`), 'refund').status === 'succeeded', {
    withinMs: 20_000,
    what: 'the refund',
  });
  await eligo.armFailpoint('refunds', crash.failpoint, { action: 'kill' });
  const returned = Promise.allSettled([api.post(`/v1/test_helpers/refunds/${refundId}/fail`)]);
  await Promise.all([returned, recovered(running, crash.failpoint)]);
}

// The answer, or undefined when the connection broke.
function ask({ api }: RunningShop, cart: Cart, key: string): Promise<ApiAnswer | undefined> {
  const body: Json = { checkout_session: { amount: refundCents } };
  const path = `/v1/checkout/sessions/${cart.sessionId}/refund`;
  return unlessBroken(() => api.post(path, body, { idempotencyKey: key }));
}

async function insist(running: RunningShop, cart: Cart, key: string): Promise<ApiAnswer> {
  const answer = await untilAnswered(() => ask(running, cart, key), {
    what: 'an answer to the refund',
    withinMs: 40_000,
  });
  if (answer.status !== 200) throw new Error(`a refund was answered ${answer.status} ${answer.text}`);
  return answer;
}

async function expectRefunded(running: RunningShop, cart: Cart, cents: number): Promise<void> {
  const session = record(await running.api.ok('GET', `/v1/checkout/sessions/${cart.sessionId}`), 'checkout_session');
  const [charge] = await chargesOf(running, cart.sessionId);
  const given = records(await running.eligo.sandbox('GET', '/sandbox/refunds'), 'data')
    .filter((refund) => refund.charge === charge?.id && refund.status === 'succeeded')
    .reduce((sum, refund) => sum + Number(refund.amount), 0);
  if (given !== cents || session.amount_refunded !== cents) {
    throw new Error(`the sandbox gave back ${given}, the session says ${session.amount_refunded}, not ${cents}`);
  }
}
