import { booksAgree } from '../books.ts';
import type { ProcessorFault } from './confirm-crashes.ts';
import { expectAnswer, expectCharges, expectComplete } from './run-confirm-crash.ts';
import { newCart, type RunningShop } from './running-shop.ts';
import { newShopper } from './shopper.ts';

/** What can happen to a confirmation between us and the processor, without anybody dying. */
export const lostAnswers: readonly ProcessorFault[] = [
  { call: 'payment_intents.confirm', kind: 'drop_after' },
  { call: 'payment_intents.confirm', kind: 'drop_before' },
  { call: 'payment_intents.confirm', kind: 'error_after' },
  { call: 'payment_intents.confirm', kind: 'error_before' },
  { call: 'payment_intents.confirm', kind: 'in_progress' },
  { call: 'payment_intents.confirm', kind: 'late', delay_ms: 2_500 },
  { call: 'payment_intents.confirm', kind: 'slow', delay_ms: 2_500 },
];

/** Nobody knows is not "no": the same key, asked again, is answered as if nothing had happened, and the card is charged once. */
export async function runLostAnswer(running: RunningShop, fault: ProcessorFault): Promise<void> {
  await running.eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  const shopper = newShopper(running);
  const key = shopper.newKey();
  await running.eligo.sandbox('POST', '/sandbox/faults', { fault });
  expectAnswer(await shopper.insist(cart, key), 200);
  await booksAgree(running.eligo);
  await expectCharges(running, cart, 1);
  await expectComplete(running, cart);
}

/**
 * While nobody knows what became of the first key's charge, and the first look at it fails as well, another key must wait, past the lease of every
 * lock, until somebody does.
 */
export async function runAnotherKeyWhileUnknown(running: RunningShop): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  const shopper = newShopper(running);
  for (const call of ['payment_intents.confirm', 'payment_intents.retrieve']) {
    await eligo.sandbox('POST', '/sandbox/faults', { fault: { call, kind: 'drop_after' } });
  }
  await shopper.ask(cart, shopper.newKey());
  expectAnswer(await shopper.insist(cart, shopper.newKey()), 400);
  await booksAgree(eligo);
  await expectCharges(running, cart, 1);
}
