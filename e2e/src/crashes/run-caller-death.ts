import { holdAt } from './hold-at.ts';
import { dieIn, type Retry, recovered } from './run-confirm-crash.ts';
import { newCart, type RunningShop } from './running-shop.ts';

/** Where checkout is while its caller dies: the call goes on without anybody to answer to. */
export const callerDeaths = ['confirm.claimed', 'charge.fence_passed', 'charge.before_settle_commit'] as const;

/** Kills the gateway alone while checkout is in the middle of the charge; only the split has a caller that can die alone. */
export async function runCallerDeath(running: RunningShop, failpoint: string, retry: Retry): Promise<void> {
  const cart = await newCart(running);
  await dieIn(running, cart, retry, { sent: true }, (confirming) => killCallerAt(running, failpoint, confirming));
}

/** Asks checkout through the gateway, kills the gateway alone while checkout is at the failpoint, and resolves once there is a gateway again. */
export async function killCallerAt(
  running: RunningShop,
  failpoint: string,
  ask: () => Promise<unknown>,
): Promise<void> {
  const held = await holdAt(running, failpoint);
  const answered = ask();
  await held.reached();
  running.eligo.kill('gateway');
  await answered;
  await held.letGo();
  await recovered(running, 'the gateway');
}
