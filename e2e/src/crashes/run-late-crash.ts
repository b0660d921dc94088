import { holdAt } from './hold-at.ts';
import { dieIn, type Retry, recovered } from './run-confirm-crash.ts';
import { newCart, type RunningShop } from './running-shop.ts';

/** Where the process dies while it cancels a charge that did not set out in time. */
export const lateCrashes = [
  { name: 'canceled at the processor, not recorded', failpoint: 'late.processor_answered' },
  { name: 'before its end commits', failpoint: 'late.before_abandon_commit' },
  { name: 'recorded', failpoint: 'late.abandoned' },
] as const;

/**
 * Holds a confirm behind its fence until its time to confirm and its lease are over; the sweeper then cancels it at the processor, and dies there.
 * Nothing has been charged then, as if it had never been sent.
 */
export async function runLateCrash(running: RunningShop, failpoint: string, retry: Retry): Promise<void> {
  const { eligo } = running;
  await eligo.sandbox('DELETE', '/sandbox/faults');
  const cart = await newCart(running);
  await dieIn(running, cart, retry, { sent: false }, async (confirming) => {
    const held = await holdAt(running, 'charge.fence_passed');
    const asked = confirming();
    await held.reached();
    await eligo.armFailpoint('checkout', failpoint, { action: 'kill' });
    await eligo.database.admin('update checkout.charge_attempts set confirm_until = now() where subject_id = $1', [
      cart.sessionId,
    ]);
    await Promise.all([asked, recovered(running, failpoint)]);
  });
}
