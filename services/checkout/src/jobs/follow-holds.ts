import type { Scope } from '@eligo/postgres';
import { AccountTurns, eachAtOnce, type Job, type Turn } from '@eligo/service';
import { followHold } from '../actions/follow-hold.ts';
import type { Context } from '../context.ts';
import { dueHolds, followHoldsJob, holdTurns, nextHoldInMs } from '../store/holds.ts';

// An account with thousands of due holds has as many of them looked at in its turn as any other.
const most = { accounts: 50, holds: 16 };
// At the same time. A processor account that answers slowly must not keep the other accounts waiting: four accounts have their turns together, and share
// the eight calls to the processor that the job makes beside those of payments.
const atOnce = { accounts: 4, holds: 8 };

/** Follows holds until they are captured or lapse: tells the shop a day before one lapses, and ends the sessions whose hold is about to lapse, or is gone. */
export function followHolds(context: Context): Job {
  const { database, clock, logger } = context;
  const turns = new AccountTurns(
    (after) => holdTurns(database, clock.now(), after, most.accounts),
    (scope, turn) => followSome(context, scope, turn),
    () => nextHoldInMs(database, clock.now()),
    { atOnce: atOnce.accounts },
  );
  return {
    name: followHoldsJob,
    // A hold is due a day and an hour before it lapses, or 36 hours before if it is renewed: a minute does not matter. An event of the processor makes its hold due.
    everyMs: 60_000,
    run: (signal) =>
      turns.run(signal, (err) => logger.error({ err }, 'Failed to look for holds that are due; will retry')),
  };
}

async function followSome(context: Context, scope: Scope, { signal, accountsAtOnce }: Turn): Promise<boolean> {
  const due = await dueHolds(context.database, scope, context.clock.now(), most.holds);
  let followed = 0;
  await eachAtOnce(due, { atOnce: Math.floor(atOnce.holds / accountsAtOnce), signal }, async (intentId) => {
    try {
      await followHold(context, scope, intentId);
      followed += 1;
    } catch (error) {
      // One that fails must not hold up those behind it; it is due again some minutes later.
      context.logger.error(
        { err: error, paymentIntentId: intentId },
        'Failed to check a hold; will retry in five minutes',
      );
    }
  });
  return followed > 0 && due.length === most.holds;
}
