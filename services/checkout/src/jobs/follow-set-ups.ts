import { type Scope, withTx } from '@eligo/postgres';
import { AccountTurns, eachAtOnce, type Job, type Turn } from '@eligo/service';
import { followSetUp } from '../actions/follow-set-up.ts';
import type { Context } from '../context.ts';
import { claimSetUp, dueSetUps, followSetUpsJob, nextSetUpInMs, setUpTurns } from '../store/subscription-set-ups.ts';

// As of holds: an account with thousands of set-ups has as many of them looked at in its turn as any other, and four accounts share eight calls to the processor.
const most = { accounts: 50, setUps: 16 };
const atOnce = { accounts: 4, setUps: 8 };

/** Learns what customers did with the set-ups of subscriptions, and cancels those that wait no longer. */
export function followSetUps(context: Context): Job {
  const { database, logger } = context;
  const turns = new AccountTurns(
    (after) => setUpTurns(database, after, most.accounts),
    (scope, turn) => followSome(context, scope, turn),
    () => nextSetUpInMs(database),
    { atOnce: atOnce.accounts },
  );
  return {
    name: followSetUpsJob,
    // The soonest that a set-up is due. An event of the processor makes its set-up due.
    everyMs: 15_000,
    run: (signal) =>
      turns.run(signal, (err) => logger.error({ err }, 'Failed to look for set-ups that are due; will retry')),
  };
}

async function followSome(context: Context, scope: Scope, { signal, accountsAtOnce }: Turn): Promise<boolean> {
  const { database, logger } = context;
  const due = await dueSetUps(database, scope, most.setUps);
  let followed = 0;
  await eachAtOnce(due, { atOnce: Math.floor(atOnce.setUps / accountsAtOnce), signal }, async (subscriptionId) => {
    try {
      const setUp = await withTx(database, scope, (tx) => claimSetUp(tx, scope, subscriptionId));
      if (setUp !== undefined) {
        await context.failpoint('card_set_up.claimed');
        await followSetUp(context, scope, setUp, false);
      }
      followed += 1;
    } catch (error) {
      logger.error({ err: error, subscriptionId }, 'Failed to check the set-up of a subscription; will retry');
    }
  });
  return followed > 0 && due.length === most.setUps;
}
