import { booksAgree } from '../books.ts';
import type { ProcessorFault } from './confirm-crashes.ts';
import { expectAnswer, expectCharges, expectComplete } from './run-confirm-crash.ts';
import { newShopper } from './shopper.ts';
import { newCart, type Stage } from './stage.ts';

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
export async function runLostAnswer(stage: Stage, fault: ProcessorFault): Promise<void> {
  await stage.eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(stage);
  const shopper = newShopper(stage);
  const key = shopper.newKey();
  await stage.eligo.sandbox('POST', '/sandbox/faults', { fault });
  expectAnswer(await shopper.insist(cart, key), 200);
  await booksAgree(stage.eligo);
  await expectCharges(stage, cart, 1);
  await expectComplete(stage, cart);
}

/**
 * While nobody knows what became of the first key's charge, and the first look at it fails as well, another key must wait, past the lease of every
 * lock, until somebody does.
 */
export async function runAnotherKeyWhileUnknown(stage: Stage): Promise<void> {
  const { eligo } = stage;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(stage);
  const shopper = newShopper(stage);
  for (const call of ['payment_intents.confirm', 'payment_intents.retrieve']) {
    await eligo.sandbox('POST', '/sandbox/faults', { fault: { call, kind: 'drop_after' } });
  }
  await shopper.ask(cart, shopper.newKey());
  expectAnswer(await shopper.insist(cart, shopper.newKey()), 400);
  await booksAgree(eligo);
  await expectCharges(stage, cart, 1);
}
