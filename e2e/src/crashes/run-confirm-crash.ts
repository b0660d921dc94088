import type { ApiAnswer } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { record } from '../records.ts';
import { chargesOf } from './charges-of.ts';
import type { ConfirmCrash } from './confirm-crashes.ts';
import { type Cart, newCart, type RunningShop } from './running-shop.ts';
import { newShopper, type Shopper } from './shopper.ts';

/** What the shopper does after the crash. */
export const retries = ['same key', 'no retry', 'another key'] as const;
export type Retry = (typeof retries)[number];

/** How a process is made to die in the middle of a confirm; resolves when it is up again. */
export type Death = (confirming: () => Promise<unknown>) => Promise<void>;

/** Confirms, has the process die exactly there, and holds what becomes of it against the model. */
export async function runConfirmCrash(running: RunningShop, crash: ConfirmCrash, retry: Retry): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running, crash.card);
  await dieIn(running, cart, retry, crash, async (confirming) => {
    if (crash.fault) await eligo.sandbox('POST', '/sandbox/faults', { fault: crash.fault });
    await eligo.armFailpoint('checkout', crash.failpoint, { action: 'kill', skip: crash.skip ?? 0 });
    await Promise.all([confirming(), recovered(running, crash.failpoint)]);
  });
}

/** The model: however it dies, there is one charge and one answer for each key, or none of either while the session stays open. */
export async function dieIn(
  running: RunningShop,
  cart: Cart,
  retry: Retry,
  expected: Pick<ConfirmCrash, 'sent' | 'card'>,
  death: Death,
): Promise<void> {
  const shopper = newShopper(running);
  const firstKey = shopper.newKey();
  const declined = expected.card === 'declined';
  await death(() => shopper.ask(cart, firstKey));

  if (retry === 'same key') expectAnswer(await shopper.insist(cart, firstKey), declined ? 402 : 200);
  if (retry === 'another key') {
    const answer = await shopper.insist(cart, shopper.newKey());
    expectAnswer(answer, declined ? 402 : expected.sent ? 400 : 200);
  }
  if (retry === 'no retry') await convergesAlone(running, cart, shopper, { declined, sent: expected.sent });

  await booksAgree(running.eligo);
  await expectCharges(running, cart, declined ? 0 : 1);
  await expectSession(running, cart, !declined);
  // A key has its one answer also for whoever comes back late: the first one's was given up where another key paid instead.
  const late = await shopper.insist(cart, firstKey);
  const paidByAnother = !expected.sent && retry !== 'same key';
  expectAnswer(late, declined ? 402 : paidByAnother ? 400 : 200);
  await shopper.insist(cart, firstKey);
  await booksAgree(running.eligo);
  await expectCharges(running, cart, declined ? 0 : 1);
}

async function convergesAlone(
  running: RunningShop,
  cart: Cart,
  shopper: Shopper,
  expected: { declined: boolean; sent: boolean },
): Promise<void> {
  if (expected.sent) {
    await booksAgree(running.eligo);
    if (!expected.declined) await expectCharges(running, cart, 1);
    return;
  }
  await expectCharges(running, cart, 0);
  await expectSession(running, cart, false);
  expectAnswer(await shopper.insist(cart, shopper.newKey()), 200);
}

/** The answer has this status; a 400 says that the session is paid already. */
export function expectAnswer(answer: ApiAnswer, status: number): void {
  if (answer.status !== status) throw new Error(`expected ${status}, was answered ${answer.status} ${answer.text}`);
  if (status === 400 && answer.body.code !== 'checkout_session_already_processed') {
    throw new Error(`refused as ${answer.text}`);
  }
}

/** The sandbox took money exactly `count` times for the session, each time the eligible part. */
export async function expectCharges(running: RunningShop, cart: Cart, count: number): Promise<void> {
  const taken = (await chargesOf(running, cart.sessionId)).map((charge) => charge.amount_captured);
  if (taken.length !== count || taken.some((amount) => amount !== cart.eligibleCents)) {
    throw new Error(
      `the sandbox took ${taken.join(' + ') || 'nothing'} instead of ${count} times ${cart.eligibleCents}`,
    );
  }
}

async function expectSession({ api }: RunningShop, cart: Cart, paid: boolean): Promise<void> {
  const session = record(await api.ok('GET', `/v1/checkout/sessions/${cart.sessionId}`), 'checkout_session');
  const seen = `${session.status} ${session.amount_received}`;
  const wanted = paid ? `complete ${cart.eligibleCents}` : 'open 0';
  if (seen !== wanted) throw new Error(`the session is ${seen} instead of ${wanted}`);
}

/** The session is complete and holds exactly the eligible part. */
export function expectComplete(running: RunningShop, cart: Cart): Promise<void> {
  return expectSession(running, cart, true);
}

/** Waits for the death that was armed, and until everything is up again; fails when the failpoint is never passed. */
export async function recovered({ eligo }: RunningShop, failpoint: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing died at ${failpoint}, or it did not come up again`)), 90_000);
  });
  try {
    await Promise.race([eligo.recovered(), never]);
  } finally {
    clearTimeout(timer);
  }
}
