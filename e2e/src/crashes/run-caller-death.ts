import { holdAt } from './hold-at.ts';
import { dieIn, type Retry, recovered } from './run-confirm-crash.ts';
import { newCart, type Stage } from './stage.ts';

/** Where checkout is while its caller dies: the call goes on without anybody to answer to. */
export const callerDeaths = ['confirm.claimed', 'charge.fence_passed', 'charge.before_settle_commit'] as const;

/** Kills the gateway alone while checkout is in the middle of the charge; only the split has a caller that can die alone. */
export async function runCallerDeath(stage: Stage, failpoint: string, retry: Retry): Promise<void> {
  const cart = await newCart(stage);
  await dieIn(stage, cart, retry, { sent: true }, async (confirming) => {
    const held = await holdAt(stage, failpoint);
    const answered = confirming();
    await held.reached();
    stage.eligo.kill('gateway');
    await answered;
    await held.letGo();
    await recovered(stage, 'the gateway');
  });
}
