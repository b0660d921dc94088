import { booksAgree } from '../books.ts';
import { holdAt } from './hold-at.ts';
import { expectCharges, expectComplete } from './run-confirm-crash.ts';
import { newCart, type RunningShop } from './running-shop.ts';
import { newShopper } from './shopper.ts';

/** Where a step can be held past its lease while another takes over; it then wakes up and goes on with what is no longer its own. */
export const stalls = [
  'confirm.claimed',
  'charge.intent_created',
  'charge.fence_passed',
  'charge.processor_answered',
  'charge.before_settle',
] as const;

/**
 * Holds a confirm until its lease is over and the same key, asked again, has been answered by another's work, and only then lets it go on. The
 * fence must turn it back, or what it does must change nothing.
 */
export async function runStall(running: RunningShop, failpoint: string): Promise<void> {
  await running.eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  const shopper = newShopper(running);
  const key = shopper.newKey();
  const held = await holdAt(running, failpoint);
  const stalled = shopper.ask(cart, key);
  await held.reached();
  const answer = await shopper.insist(cart, key);
  if (answer.status !== 200) throw new Error(`answered ${answer.status} ${answer.text}`);
  await held.letGo();
  await stalled;
  await shopper.insist(cart, key);
  await booksAgree(running.eligo);
  await expectCharges(running, cart, 1);
  await expectComplete(running, cart);
}
